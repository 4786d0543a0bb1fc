-- readings [table]
SELECT if(id = 90, NULL, timestamp_seconds(if(id < 64, 1710028800, 1730592000) + id * 37 % 64 * 811)) AS ts,
       if(id % 11 = 0, NULL, concat('d', id % 3)) AS device,
       if(id % 13 = 0, NULL, CAST(id % 7 AS INT)) AS n,
       CASE WHEN id = 5 THEN double('NaN') WHEN id % 8 = 0 THEN NULL ELSE id % 9 / 2D END AS x,
       id % 5 AS load,
       CAST(id % 9 AS STRING) AS state,
       CAST(id AS DECIMAL(10, 2)) / 4 AS price,
       id % 4 = 0 AS alarm,
       map('m', id % 2) AS tags,
       named_struct('dev', concat('p', id % 2), 'site', named_struct('code', id % 3, 'name', 'n')) AS payload,
       array(CAST(id % 2 AS INT), NULL) AS xs,
       timestamp_ntz '2024-03-10 01:00:00' + make_dt_interval(0, 0, CAST(id AS INT)) AS local,
       id % 2 AS `odd name`
FROM range(0, 96, 1, 1)

-- devices [table]
SELECT * FROM VALUES ('d0', 'ann', 2), ('d1', 'bob', 3), ('d1', 'eve', 5), (NULL, 'nil', 7) AS t(device, owner, weight)

-- minutes [table]
SELECT device, window, max(n) AS top, min(ts) AS ts FROM readings GROUP BY device, window(ts, '20 minutes')

-- odd [table]
SELECT ts, to_date(ts) AS date, load AS day, n AS hour, n AS int, device AS string, ts AS timestamp,
       device AS `select`, load AS `order`, device AS `key`, load AS begin, n AS `end`, device AS node, load AS start,
       device AS k0, load AS k1, n AS a0, n AS i0, n AS f0, device AS w, load AS q, device AS query,
       device AS `_k0`, n AS `_a0`, n AS c0, n AS c0_n, load AS lane, device AS `a.b`, device AS `back``tick`,
       device AS `it's`, device AS `日本`, load AS minute, load AS year, alarm AS boolean, x AS double,
       device AS `window size`, load AS `group`, load AS bucket, device AS muntin_part, n AS count, n AS max, load AS value
FROM readings
