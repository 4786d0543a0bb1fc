-- name: hot
SELECT device, window, max(temp) AS value FROM readings
GROUP BY device, window(ts, '5 minutes', '1 minute');

-- name: mean
SELECT device, window, avg(temp) AS value FROM readings
GROUP BY device, window(ts, '10 minutes')
