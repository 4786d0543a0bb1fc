from benchmarks.spark.memory import LIMIT, measure_peaks


def test_all_shapes_are_answered_and_watched(spark):
    report = measure_peaks(spark, keys=500, events=5000, teams=3)
    assert report.shapes["teams3"].rows > 0
    many, one = report.shapes["many keys"], report.shapes["one key"]
    # One event in one minute, three quarters and three hours, for each of the keys.
    assert many.rows == 500 * 7
    assert one.rows > 0
    assert many.jvm_bytes > 0
    assert many.python_bytes > 0
    assert many.jvm_bytes + many.python_bytes >= many.peak_bytes
    assert report.to_json()["limit_bytes"] == LIMIT == 4 * 2**30
