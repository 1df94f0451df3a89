import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

import scala.Tuple2;

/**
 * ShuffleJob MAPS REDUCES ROWS makes so many rows of 100 bytes in each map,
 * sends every row through a shuffle and counts what arrives. Another number
 * than what was sent fails the application.
 */
public final class ShuffleJob {
  private static final int ROW = 100;

  public static void main(String[] args) {
    int maps = Integer.parseInt(args[0]);
    int reduces = Integer.parseInt(args[1]);
    int rows = Integer.parseInt(args[2]);
    List<Integer> parts = new ArrayList<>(Collections.nCopies(maps, 0));
    try (JavaSparkContext spark = new JavaSparkContext(new SparkConf())) {
      long arrived = spark.parallelize(parts, maps)
          .flatMap(part -> Collections.nCopies(rows, part).iterator())
          .mapToPair(part -> new Tuple2<>((int) (Math.random() * Integer.MAX_VALUE), new byte[ROW]))
          .repartition(reduces)
          .map(row -> row._2().length)
          .filter(length -> length == ROW)
          .count();
      if (arrived != (long) maps * rows) {
        throw new IllegalStateException(arrived + " rows arrived of " + (long) maps * rows);
      }
    }
  }
}
