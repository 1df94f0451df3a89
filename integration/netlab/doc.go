// Package netlab builds small networks of pretended machines on one Linux
// machine, out of sight of everything else on it.
//
// A program that calls [Boot] first thing and later [Enter] runs itself again
// inside new user, mount, network, process and host name namespaces. In there
// every [Host] is a network namespace and a host name of its own, joined to
// others by [Join] with veth pairs and bridges; addresses, names and process
// ids can clash with nothing outside, and nothing outside is changed. The
// kernel does the cleaning: when the program ends, however it ends, the
// namespaces and every process in them end with it. No privilege is needed
// where the kernel lets ordinary users make user namespaces.
package netlab
