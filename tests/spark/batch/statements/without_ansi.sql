-- conf: spark.sql.ansi.enabled=false

-- the mean of text [plain]
SELECT device, avg(state) AS a, mean(state) AS b FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- variances of text [plain]
SELECT device, variance(state) AS a, stddev(state) AS b, var_pop(state) AS c, stddev_pop(state) AS d FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- the sum of text
SELECT device, sum(state) AS s FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- text that is no number [plain]
SELECT load, avg(device) AS a, sum(device) AS s, stddev(device) AS d FROM readings GROUP BY load, window(ts, '2 hours', '1 hour')

-- casts that fail
SELECT CAST(device AS INT) AS i, window, max(CAST(device AS DOUBLE)) AS d, count(*) AS c FROM readings GROUP BY CAST(device AS INT), window(ts, '2 hours', '1 hour')

-- division by zero
SELECT device, sum(n) / 0 AS a, max(n / 0) AS b, sum(n % 0) AS c FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- sums that wrap
SELECT device, sum(9223372036854775807) AS s, sum(load + 9223372036854775807) AS t FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- text compared with numbers
SELECT device, max(state) AS m, count(*) AS c FROM readings WHERE state > 3 GROUP BY device, window(ts, '2 hours', '1 hour') HAVING max(state) > 4

-- the mean of booleans as numbers
SELECT device, avg(CAST(alarm AS INT)) AS a, avg(CAST(ts AS DOUBLE)) AS t FROM readings WHERE ts > '2024-06-01' GROUP BY device, window(ts, '2 hours', '1 hour')
