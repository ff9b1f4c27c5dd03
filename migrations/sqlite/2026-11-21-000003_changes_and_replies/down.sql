DROP TABLE replies;
DROP TABLE changes;
