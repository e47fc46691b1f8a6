/** The line between a spec and a driver: one JSON object a line, in order. See specs/clients/driver.py. */

import { createInterface } from 'node:readline';

/**
 * Does one task after the other until standard input closes.
 *
 * @param {Object<string, (args: any) => any>} tasks By name; what is not there is not offered by the client.
 */
export async function serve(tasks) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, task, args } = JSON.parse(line);
    let answer;
    try {
      if (!tasks[task]) throw new Error('not offered by the client');
      const value = await tasks[task](args);
      answer = { id, ok: true, value: value === undefined ? null : value };
    } catch (error) {
      answer = { id, ok: false, error: error.message };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
  // A client may hold a connection open, which would keep the process.
  process.exit(0);
}
