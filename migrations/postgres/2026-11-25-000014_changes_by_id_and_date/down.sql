DROP INDEX changes_by_id_and_date;
