DROP TABLE register_settings;
