// Package jhist reads the files in which MapReduce keeps the history of its jobs: the
// events of a job as Avro, in JSON or binary, and the job's configuration beside them.
//
// A file says its own schema, so that files of Hadoop 2 and 3 are read by the names of
// their fields. Events and fields that this package does not know are passed over.
package jhist
