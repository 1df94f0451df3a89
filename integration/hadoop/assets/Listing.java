import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.HdfsLocatedFileStatus;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;

/**
 * Listing walks directories of HDFS as FileInputFormat does, with
 * listFiles(path, true), one for each line on standard input. "walk PATH" answers
 * with one line: nanoseconds, files, blocks. "show PATH" answers with a line
 * for each block (id, offset, length, rack/host of each replica, path)
 * and an empty line.
 */
public final class Listing {
  public static void main(String[] args) throws IOException {
    FileSystem fs = FileSystem.get(new Configuration());
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintWriter out = new PrintWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8));
    for (String line; (line = in.readLine()) != null; out.flush()) {
      Path path = new Path(line.substring("walk ".length()));
      if (line.startsWith("walk ")) {
        walk(fs, path, out);
      } else {
        show(fs, path, out);
      }
    }
  }

  private static void walk(FileSystem fs, Path path, PrintWriter out) throws IOException {
    long began = System.nanoTime();
    int files = 0;
    int blocks = 0;
    for (RemoteIterator<LocatedFileStatus> all = fs.listFiles(path, true); all.hasNext(); files++) {
      for (BlockLocation block : all.next().getBlockLocations()) {
        if (block.getHosts().length == 0) {
          throw new IOException("a block without hosts in " + path);
        }
        blocks++;
      }
    }
    out.println((System.nanoTime() - began) + " " + files + " " + blocks);
  }

  private static void show(FileSystem fs, Path path, PrintWriter out) throws IOException {
    for (RemoteIterator<LocatedFileStatus> all = fs.listFiles(path, true); all.hasNext();) {
      HdfsLocatedFileStatus file = (HdfsLocatedFileStatus) all.next();
      for (LocatedBlock block : file.getLocatedBlocks().getLocatedBlocks()) {
        List<String> hosts = new ArrayList<>();
        for (DatanodeInfo node : block.getLocations()) {
          hosts.add(node.getNetworkLocation() + "/" + node.getHostName());
        }
        out.println(block.getBlock() + " " + block.getStartOffset() + " " + block.getBlockSize() + " "
            + String.join(",", hosts) + " " + file.getPath().toUri().getPath());
      }
    }
    out.println();
  }
}
