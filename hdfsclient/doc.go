// Package hdfsclient finds where the blocks of HDFS files are and which racks
// the DataNodes are in, and turns both into observations.
//
// Block locations come over WebHDFS (GETFILEBLOCKLOCATIONS, or the older
// GET_BLOCK_LOCATIONS where the NameNode does not know the first), because
// github.com/colinmarc/hdfs does not return them. The namespace is walked
// over WebHDFS too, unless the configuration says "rpc": then colinmarc's
// client does it. WebHDFS is the default because that client renews a lease
// every second for as long as it lives, sends one request at a time, and takes
// no context; in return it needs no second port and no second login.
//
// "native" is the third way: getListing with needLocation over yarnproxy/ipc,
// which brings listings and block locations together, hundreds of files in a
// request. It has simple authentication only; readiness and DataNodes are asked
// for over HTTP all the same.
//
// A Client answers for one nameservice: one NameNode, or the members of one
// high-availability pair. A Poller drives it and sends observations.
package hdfsclient
