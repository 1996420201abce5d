package touchstone.kit;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;

/**
 * Runs the methods of classes whose names begin with "test", each on an object of its own, and says how many passed.
 */
final class Runner {
  private Runner() {}

  public static void main(String[] classes) throws ReflectiveOperationException {
    int passed = 0;
    int failed = 0;
    for (String name : classes) {
      Class<?> tests = Class.forName(name);
      for (Method method : tests.getDeclaredMethods()) {
        if (!method.getName().startsWith("test") || Modifier.isPrivate(method.getModifiers())) {
          continue;
        }
        try {
          method.invoke(tests.getDeclaredConstructor().newInstance());
          passed++;
        } catch (InvocationTargetException failure) {
          System.err.print(name + "." + method.getName() + ": ");
          failure.getCause().printStackTrace();
          failed++;
        }
      }
    }
    System.out.println(passed + " passed, " + failed + " failed");
    System.exit(failed > 0 || passed == 0 ? 1 : 0);
  }

  static void check(Object expected, Object actual, String what) {
    if (expected == null ? actual != null : !expected.equals(actual)) {
      throw new AssertionError(what + ": expected " + expected + ", got " + actual);
    }
  }
}
