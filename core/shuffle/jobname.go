package shuffle

import (
	"slices"
	"strings"
)

// maxName bounds the bytes of a job's name that are looked at. Hive, the most
// talkative, cuts its own at 50 characters of the query and a stage.
const maxName = 256

// folded stands in a normalised name for what differs from run to run.
const folded = '#'

// NormalName folds in a job's name what differs from one run of the job to the
// next, so that the runs of a recurring job share a name: "#" stands for dates
// and times, numbers on their own ("load 2024-01-05", "iteration 7"), numbers of
// four or more digits anywhere ("streamjob7134095.jar"), the number of an attempt,
// try or run ("sort-attempt2"), UUIDs, and hex ids of at least eight digits. It
// returns "" for a name of which nothing else is left.
//
// Two jobs that share a name in error mislead each other, and a job that is not
// recognised is only measured again; hence what is short and part of a word stays
// ("query72", "v2"), and so does the step of a plan: Hive's "(Stage-2)", and
// "(1/3)" as Cascading and Crunch write it.
func NormalName(name string) string {
	if len(name) > maxName {
		name = name[:maxName]
	}
	name = strings.Join(strings.Fields(strings.ToValidUTF8(name, "")), " ")
	for {
		next, word := foldOnce(name)
		if !word {
			return ""
		}
		if next == name {
			return name
		}
		name = next // shorter, or with fewer digits
	}
}

// foldOnce folds the tokens of a name once, and reports whether a word is left. What
// it folds may make neighbours fold in the next round.
func foldOnce(name string) (next string, word bool) {
	out := make([]byte, 0, len(name))
	for at := 0; at < len(name); {
		if n := planStep(name[at:]); n > 0 {
			out, at = append(out, name[at:at+n]...), at+n
			continue
		}
		if !wordByte(name[at]) && name[at] != folded {
			out, at = append(out, name[at]), at+1
			continue
		}
		n, kept := nextToken(name, at)
		if kept == "" {
			out = appendFolded(out)
		} else {
			out, word = append(out, kept...), true
		}
		at += n
	}
	return string(out), word
}

// appendFolded appends the sign of a folded part. A part that follows another one
// with a single mark between is the same part, as in a date.
func appendFolded(out []byte) []byte {
	n := len(out)
	switch {
	case n > 0 && out[n-1] == folded:
		return out
	case n > 1 && out[n-2] == folded && strings.IndexByte("-_/:.,+ ", out[n-1]) >= 0:
		return out[:n-1]
	}
	return append(out, folded)
}

// planStep returns the length of a step of a plan at the beginning of s, 0 for none.
func planStep(s string) int {
	inner, ok := strings.CutPrefix(s, "(")
	if !ok {
		return 0
	}
	inner, _, ok = strings.Cut(inner, ")")
	if !ok {
		return 0
	}
	if number, stage := strings.CutPrefix(inner, "Stage-"); stage && digits(number) == len(number) && number != "" {
		return len(inner) + 2
	}
	if a, b, cut := strings.Cut(inner, "/"); cut && a != "" && b != "" && digits(a) == len(a) && digits(b) == len(b) {
		return len(inner) + 2
	}
	return 0
}

// nextToken returns the length of the word, number or id that begins at a byte of
// name, and what the normalised name keeps of it: "" if all of it is folded.
func nextToken(name string, at int) (length int, kept string) {
	s := name[at:]
	if s[0] == folded {
		return 1, ""
	}
	if isUUID(s) {
		return uuidLength, ""
	}
	end := 0
	for end < len(s) && wordByte(s[end]) {
		end++
	}
	s = s[:end]
	switch {
	case digits(s) == end, isHexID(s), isTimePart(s), isMonthOrDay(s) && hasDateBeside(name, at, at+end):
		return end, ""
	}
	return end, foldNumbers(s)
}

// foldNumbers folds the long numbers within a word, and those that count attempts.
func foldNumbers(s string) string {
	var out []byte
	for i := 0; i < len(s); {
		n := digits(s[i:])
		switch {
		case n == 0:
			out, i = append(out, s[i]), i+1
		case n >= 4 || countsAttempts(s[:i]):
			out, i = append(out, folded), i+n
		default:
			out, i = append(out, s[i:i+n]...), i+n
		}
	}
	return string(out)
}

// countsAttempts reports whether a number after a word counts attempts.
func countsAttempts(before string) bool {
	w := strings.ToLower(before)
	for _, suffix := range []string{"attempt", "retry", "rerun"} {
		if strings.HasSuffix(w, suffix) {
			return true
		}
	}
	return w == "try" || w == "run" || w == "id"
}

const uuidLength = 36

// isUUID reports whether s begins with a UUID, 8-4-4-4-12 hex digits.
func isUUID(s string) bool {
	if len(s) < uuidLength || len(s) > uuidLength && wordByte(s[uuidLength]) {
		return false
	}
	for i := range uuidLength {
		switch i {
		case 8, 13, 18, 23:
			if s[i] != '-' {
				return false
			}
		default:
			if !hexDigit(s[i]) {
				return false
			}
		}
	}
	return true
}

// isHexID reports whether a token is a number in hex, such as a digest: at least
// eight digits, of both kinds, so that no word is one.
func isHexID(s string) bool {
	s = strings.TrimPrefix(s, "0x")
	number := false
	for i := range len(s) {
		if !hexDigit(s[i]) {
			return false
		}
		number = number || isDigit(s[i])
	}
	return len(s) >= 8 && number
}

// isTimePart reports whether a token is a part of a date and time in the form of ISO
// 8601: "05T10", "20240105T101500Z", "00Z".
func isTimePart(s string) bool {
	n := digits(s)
	if n == 0 {
		return false
	}
	s = s[n:]
	if rest, ok := strings.CutPrefix(s, "T"); ok {
		if n = digits(rest); n == 0 {
			return false
		}
		s = rest[n:]
	}
	return s == "Z" || s == ""
}

// isMonthOrDay reports whether a token is the name of a month or of a day of the week,
// as dates have it.
func isMonthOrDay(s string) bool {
	if len(s) < 3 {
		return false
	}
	return slices.Contains([]string{
		"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
		"january", "february", "march", "april", "june", "july", "august", "september", "october", "november", "december",
		"mon", "tue", "wed", "thu", "fri", "sat", "sun",
	}, strings.ToLower(s))
}

// hasDateBeside reports whether a token between two bytes of name has a number
// beside it, one mark away.
func hasDateBeside(name string, from, to int) bool {
	after := to+1 < len(name) && !wordByte(name[to]) && startsWithNumber(name[to+1:])
	before := false
	if from > 1 && !wordByte(name[from-1]) {
		begin := from - 1
		for begin > 0 && (wordByte(name[begin-1]) || name[begin-1] == folded) {
			begin--
		}
		before = startsWithNumber(name[begin : from-1])
	}
	return after || before
}

// startsWithNumber reports whether s begins with a token that is a number or folded.
func startsWithNumber(s string) bool {
	end := 0
	for end < len(s) && wordByte(s[end]) {
		end++
	}
	return end > 0 && digits(s[:end]) == end || end == 0 && s != "" && s[0] == folded
}

// digits returns how many decimal digits s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func hexDigit(b byte) bool { return isDigit(b) || 'a' <= b|0x20 && b|0x20 <= 'f' }

// wordByte reports whether a byte belongs to a word: ASCII letters, digits, and
// all that is not ASCII.
func wordByte(b byte) bool { return isDigit(b) || 'a' <= b|0x20 && b|0x20 <= 'z' || b >= 0x80 }
