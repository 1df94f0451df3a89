package shuffle_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"heddle/core/shuffle"
)

func TestNormalName(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, want string }{
		// Hadoop's own examples and tools.
		{"TeraSort", "TeraSort"},
		{"word count", "word count"},
		{"QuasiMonteCarlo", "QuasiMonteCarlo"},
		{"streamjob7134095123.jar", "streamjob#.jar"},
		{"distcp", "distcp"},
		{"distcp: hdfs://nn1:8020/logs/2024-01-05 -> /backup/2024-01-05", "distcp: hdfs://nn1:#/logs/# -> /backup/#"},
		{"job_1410450250506_0002", "job_#"},
		{"attempt_1410450250506_0002_m_000003_0", "attempt_#_m_#"},
		// Hive: the query, cut in its middle, and the stage, which is a job of its own.
		{"INSERT OVERWRITE TABLE daily PARTITION(ds='2024-01-05')...u.id(Stage-1)", "INSERT OVERWRITE TABLE daily PARTITION(ds='#')...u.id(Stage-1)"},
		{"INSERT OVERWRITE TABLE daily PARTITION(ds='2024-01-06')...u.id(Stage-2)", "INSERT OVERWRITE TABLE daily PARTITION(ds='#')...u.id(Stage-2)"},
		{"select count(*)\n\tfrom clicks\nwhere day=20240105(Stage-1)", "select count(*) from clicks where day=#(Stage-1)"},
		{"HIVE-6b2c1f0e-93a1-4c5d-8a77-0f3b5d9e1c24", "HIVE-#"},
		// Pig, Cascading, Sqoop.
		{"PigLatin:daily_report.pig", "PigLatin:daily_report.pig"},
		{"PigLatin:report-2024-01-05T10:15:00Z.pig", "PigLatin:report-#.pig"},
		{"[9F3A64E0C1D24B7F/0D4F6E8A9B1C2D3E] etl/(2/5) .../out/2024/01/05", "[#] etl/(2/5) .../out/#"},
		{"QueryResult.jar", "QueryResult.jar"},
		// Oozie: the launcher and the action, with the workflow's id.
		{"oozie:launcher:T=map-reduce:W=daily-wf:A=join:ID=0000012-240105101500123-oozie-oozi-W", "oozie:launcher:T=map-reduce:W=daily-wf:A=join:ID=#-oozie-oozi-W"},
		{"oozie:action:T=hive:W=daily-wf:A=load-day:ID=0000345-240106101500123-oozie-oozi-W", "oozie:action:T=hive:W=daily-wf:A=load-day:ID=#-oozie-oozi-W"},
		// Spark.
		{"com.example.Ingest$ 2024-01-05 02:00:00.123", "com.example.Ingest$ #"},
		{"nightly-ingest-application_1700000000000_0042", "nightly-ingest-application_#"},
		{"kmeans iteration 7 of 20", "kmeans iteration # of #"},
		// Attempts and runs.
		{"daily-join-attempt2", "daily-join-attempt#"},
		{"dailyJoinRetry3", "dailyJoinRetry#"},
		{"daily join run12", "daily join run#"},
		{"daily join #3", "daily join #"},
		// Dates of people.
		{"report Mon Jan 05 2024", "report #"},
		{"report 5-Jan-2024", "report #"},
		{"report 05.01.2024, 10:15", "report #, #"},
		{"jan's report", "jan's report"},
		{"logs-20240105T101500Z", "logs-#"},
		{"logs-20240105101500", "logs-#"},
		{"logs20240105", "logs#"},
		// Ids.
		{"build deadbeef42", "build #"},
		{"build 3f2a91c07d", "build #"},
		{"facade deadbeef", "facade deadbeef"},
		{"model 0xDEADBEEF01", "model #"},
		// What names the job stays.
		{"query72", "query72"},
		{"q14a v2", "q14a v2"},
		{"sort 5GB", "sort 5GB"},
		{"3way-join", "3way-join"},
		{"Stage-1", "Stage-#"},
		{"für 2024: Größe", "für #: Größe"},
		// Nothing is left.
		{"", ""},
		{"2024-01-05", ""},
		{"  42 - 17 ", ""},
		{"6b2c1f0e-93a1-4c5d-8a77-0f3b5d9e1c24", ""},
		{"(Stage-1)", ""},
	} {
		if got := shuffle.NormalName(tc.name); got != tc.want {
			t.Errorf("%q\n is %q\nwant %q", tc.name, got, tc.want)
		}
	}
}

// A normalised name is one already, is valid text, is no longer than the name,
// and does not depend on the day it names.
func TestNormalNameProperties(t *testing.T) {
	t.Parallel()
	part := rapid.OneOf(
		rapid.SampledFrom([]string{
			"-", "_", " ", "  ", "/", "(", ")", "(Stage-", "#", "T", "Z", "jan", "Mon", "attempt", "run", "ab", "ü", "0x", "deadbeef", ".", ":",
			"6b2c1f0e-93a1-4c5d-8a77-0f3b5d9e1c24", "\xff", "\n",
		}),
		rapid.StringMatching(`[0-9]{1,6}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(rapid.SliceOfN(part, 0, 12).Draw(t, "parts"), "")
		got := shuffle.NormalName(name)
		if again := shuffle.NormalName(got); again != got {
			t.Fatalf("%q is %q, and that is %q", name, got, again)
		}
		if len(got) > len(name) || !utf8.ValidString(got) {
			t.Fatalf("%q is %q", name, got)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		day := rapid.StringMatching(`20[0-9]{2}-[01][0-9]-[0-3][0-9]`)
		form := rapid.SampledFrom([]string{"load ", "load_", "load(", "load=", "Load/x/"}).Draw(t, "form")
		a, b := shuffle.NormalName(form+day.Draw(t, "a")), shuffle.NormalName(form+day.Draw(t, "b"))
		if a != b {
			t.Fatalf("%q and %q", a, b)
		}
	})
}
