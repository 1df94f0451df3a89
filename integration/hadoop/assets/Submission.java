import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.security.PrivilegedExceptionAction;
import java.util.HashMap;
import java.util.Map;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * Submission submits MapReduce jobs and waits for none of them, one for each line on
 * standard input: the user, then the properties of the job as NAME=VALUE, with tabs
 * between. It answers with one line: "submitted " and the job's id, or "failed " and why.
 */
public final class Submission {
  public static void main(String[] args) throws IOException {
    Map<String, UserGroupInformation> users = new HashMap<>();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintWriter out = new PrintWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8));
    for (String line; (line = in.readLine()) != null; out.flush()) {
      String[] part = line.split("\t");
      try {
        UserGroupInformation user = users.computeIfAbsent(part[0], UserGroupInformation::createRemoteUser);
        out.println("submitted " + user.doAs((PrivilegedExceptionAction<String>) () -> submit(part)));
      } catch (Exception e) { // the next job may be a better one
        e.printStackTrace();
        out.println("failed " + String.valueOf(e).replace('\n', ' '));
      }
    }
    System.exit(0); // whatever threads Hadoop has left
  }

  private static String submit(String[] part) throws Exception {
    Configuration conf = new Configuration();
    for (int i = 1; i < part.length; i++) {
      int sign = part[i].indexOf('=');
      conf.set(part[i].substring(0, sign), part[i].substring(sign + 1));
    }
    Job job = Job.getInstance(conf);
    job.submit();
    return job.getJobID().toString();
  }
}
