-- Ten queries of a dashboard over the machines of a factory, after the DEBS 2012 grand challenge:
-- three power readings (mf01 to mf03 there) and state bits of each machine, a hundred times a second.

-- name: power
SELECT machine, window, avg(power1) AS power1, avg(power2) AS power2, avg(power3) AS power3
FROM sensors GROUP BY machine, window(ts, '1 second');

-- name: peak
SELECT machine, window, max(power1) AS peak1, max(power2) AS peak2, max(power3) AS peak3
FROM sensors GROUP BY machine, window(ts, '10 seconds');

-- name: minute
SELECT machine, window, count(*) AS readings, avg(power1) AS mean, stddev(power1) AS deviation
FROM sensors GROUP BY machine, window(ts, '1 minute');

-- name: energy
SELECT machine, window, sum(power1 + power2 + power3) / 100 AS watt_seconds
FROM sensors GROUP BY machine, window(ts, '5 minutes');

-- name: swing
SELECT machine, window, max(power1) - min(power1) AS swing
FROM sensors GROUP BY machine, window(ts, '1 minute', '1 second');

-- name: smooth
SELECT machine, window, avg(power1) AS power1, avg(power2) AS power2, avg(power3) AS power3
FROM sensors GROUP BY machine, window(ts, '30 seconds', '1 second');

-- name: dosing
SELECT machine, window, count_if(additive) / 100 AS seconds
FROM sensors GROUP BY machine, window(ts, '1 minute', '5 seconds');

-- name: valve
SELECT machine, window, any(valve) AS opened, every(valve) AS stayed_open
FROM sensors GROUP BY machine, window(ts, '10 seconds', '1 second');

-- name: unsteady
SELECT machine, window, stddev(power2) AS deviation, avg(power2) AS mean
FROM sensors GROUP BY machine, window(ts, '2 minutes', '2 seconds')
HAVING stddev(power2) > 0.15 * avg(power2);

-- name: shift
SELECT machine, window, count(*) AS readings, min(power3) AS low, avg(power3) AS mean, max(power3) AS high
FROM sensors GROUP BY machine, window(ts, '10 minutes', '10 seconds');
