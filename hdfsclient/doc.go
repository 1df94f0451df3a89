// Package hdfsclient finds where the blocks of HDFS files are and which racks
// the DataNodes are in, and turns both into observations.
//
// Directories are listed over ClientProtocol with github.com/colinmarc/hdfs,
// which finds the active NameNode and logs in with Kerberos. It asks for
// listings without block locations, but reads those that come: the connection
// that it is given sets needLocation in the request. So the locations of
// hundreds of files come in one answer. WebHDFS takes a request for each file
// (GETFILEBLOCKLOCATIONS, or the older GET_BLOCK_LOCATIONS where the NameNode
// does not know the first). It serves where no RPC address is known or answers,
// and for what a listing does not bring: files named by themselves, and answers
// that would be too long. Readiness, DataNodes, file contents and listings
// without locations come over HTTP alone.
//
// A Client answers for one nameservice: one NameNode, or the members of one
// high-availability pair. A Poller drives it and sends observations.
package hdfsclient
