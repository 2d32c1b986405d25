import { serveJobs } from '../../src/server/thread/serve-jobs.ts'

/** A thread that does as it is told. */
export type Order = { say: string } | { fail: string } | { exit: number } | { hang: true }

serveJobs<Order, string>(order => {
  if ('fail' in order) throw new Error(order.fail)
  if ('exit' in order) process.exit(order.exit)
  if ('hang' in order) for (;;);
  return { answer: order.say, transfer: [] }
})
