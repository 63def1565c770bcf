-- PostgreSQL can keep requests of one project from the rows of others. Here the file has one user.
SELECT 1;
