package workload

import (
	"math"
	"math/bits"

	"heddle/core/model"
)

// DefaultBlock is the HDFS block size (dfs.blocksize), in bytes.
const DefaultBlock = 128 * model.MiB

// Blocks returns how many blocks a file of so many bytes has, 0 for an empty one.
func Blocks(file, block model.Bytes) int {
	if file <= 0 {
		return 0
	}
	return int((file-1)/block + 1)
}

// Split is what one task reads from HDFS: a range of one file.
type Split struct {
	File   int // index in Stage.Reads; -1 if the stage reads no file
	Offset model.Bytes
	Bytes  model.Bytes
}

// Split returns what task i (from 0) reads from HDFS. Where the stage has one
// task for every block, each reads its block, and the last of a file what is
// left. Else every file gets a task, the other tasks go to the files by size,
// and the tasks of a file read ranges of it that differ by at most a byte.
// The splits of all tasks cover every file exactly once.
func (s *Stage) Split(i int, block model.Bytes) Split {
	if len(s.Reads) == 0 {
		return Split{File: -1}
	}
	if len(s.Measured) > 0 {
		return s.measuredSplit(i)
	}
	if s.taskPerBlock(block) {
		for r := range s.Reads {
			if n := Blocks(s.Reads[r].Bytes, block); i >= n {
				i -= n
				continue
			}
			offset := model.Bytes(i) * block
			return Split{File: r, Offset: offset, Bytes: min(block, s.Reads[r].Bytes-offset)}
		}
		return Split{File: -1} // all files are empty
	}
	spare, total := s.Tasks-len(s.Reads), s.Input()
	var before model.Bytes
	first := 0 // task of file r
	for r := range s.Reads {
		size := s.Reads[r].Bytes
		until := r + 1 + portion(spare, addCapped(before, size), total)
		if i < until || r == len(s.Reads)-1 {
			n := max(until-first, 1)
			from, to := pieceStart(size, i-first, n), pieceStart(size, i-first+1, n)
			return Split{File: r, Offset: from, Bytes: to - from}
		}
		before = addCapped(before, size)
		first = until
	}
	return Split{File: -1}
}

// taskPerBlock reports whether every block of every file has one task. An
// empty file has none; a stage that reads nothing but empty files has one task.
func (s *Stage) taskPerBlock(block model.Bytes) bool {
	blocks := 0
	for r := range s.Reads {
		blocks += Blocks(s.Reads[r].Bytes, block)
	}
	return s.Tasks == max(blocks, 1)
}

// portion returns n·part/total, rounded down; n if there is nothing to divide by.
func portion(n int, part, total model.Bytes) int {
	if total <= 0 {
		return n
	}
	return int(mulDiv(model.Bytes(n), part, total))
}

// pieceStart returns where piece i of n equal ones starts in a total.
func pieceStart(total model.Bytes, i, n int) model.Bytes {
	return mulDiv(total, model.Bytes(i), model.Bytes(n))
}

// mulDiv returns a·b/c, rounded down, for a, b >= 0 and c > 0 with b <= c. The
// product may exceed 64 bits.
func mulDiv(a, b, c model.Bytes) model.Bytes {
	hi, lo := bits.Mul64(uint64(a), uint64(b)) //nolint:gosec // neither is below zero
	q, _ := bits.Div64(hi, lo, uint64(c))      //nolint:gosec // above zero
	return model.Bytes(q)                      //nolint:gosec // at most a
}

// Partitions splits what arrives over a scatter-gather edge among the tasks
// of the stage, by what was measured or by its Skew, where the first task gets most. The parts sum to total.
// It appends to dst, which may be nil, and costs one step per task.
func (s *Stage) Partitions(dst []model.Bytes, total model.Bytes) []model.Bytes {
	weight := func(i int) float64 { return math.Pow(float64(i+1), -s.Skew) }
	if sum := s.shuffled(); sum > 0 {
		weight = func(i int) float64 { return float64(s.Measured[i].Shuffled) }
	} else if s.Skew == 0 {
		for i := range s.Tasks {
			dst = append(dst, pieceStart(total, s.Tasks-i, s.Tasks)-pieceStart(total, s.Tasks-i-1, s.Tasks))
		}
		return dst
	}
	var sum float64
	for i := range s.Tasks {
		sum += weight(i)
	}
	var upTo float64
	var before model.Bytes
	for i := range s.Tasks {
		upTo += weight(i)
		upto := total
		if i < s.Tasks-1 {
			upto = max(before, min(total, model.Bytes(float64(total)*(upTo/sum))))
		}
		dst = append(dst, upto-before)
		before = upto
	}
	return dst
}

// Of returns how long a task computes that reads so many bytes, rounded down
// to a millisecond.
func (c Cost) Of(read model.Bytes) model.Duration {
	whole := c.PerGiB * model.Duration(read/model.GiB)
	rest := mulDiv(model.Bytes(c.PerGiB), read%model.GiB, model.GiB)
	return c.Fixed + whole + model.Duration(rest)
}

// Input returns what the stage reads from HDFS, the output of other jobs
// included, in bytes.
func (s *Stage) Input() model.Bytes {
	var sum model.Bytes
	for i := range s.Reads {
		sum = addCapped(sum, s.Reads[i].Bytes)
	}
	return sum
}

// Input returns what the job reads from HDFS, in bytes.
func (j *Job) Input() model.Bytes {
	var sum model.Bytes
	for i := range j.Stages {
		sum = addCapped(sum, j.Stages[i].Input())
	}
	return sum
}

// Shuffle returns what the job sends over scatter-gather edges, in bytes. An
// output that two stages gather counts twice.
func (j *Job) Shuffle() model.Bytes {
	var sum model.Bytes
	for i := range j.Stages {
		for _, e := range j.Stages[i].Edges {
			if e.Kind == model.ScatterGather {
				sum = addCapped(sum, j.Stages[e.From].Output)
			}
		}
	}
	return sum
}

// Output returns what the job writes to HDFS, before replication, in bytes:
// the output of every stage that no other stage reads.
func (j *Job) Output() model.Bytes {
	read := make([]bool, len(j.Stages))
	for i := range j.Stages {
		for _, e := range j.Stages[i].Edges {
			read[e.From] = true
		}
	}
	var sum model.Bytes
	for i := range j.Stages {
		if !read[i] {
			sum = addCapped(sum, j.Stages[i].Output)
		}
	}
	return sum
}

// Tasks returns how many tasks the job has.
func (j *Job) Tasks() int {
	n := 0
	for i := range j.Stages {
		n += j.Stages[i].Tasks
	}
	return n
}

// addCapped adds two sizes and stops at the largest number there is.
func addCapped(a, b model.Bytes) model.Bytes {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
