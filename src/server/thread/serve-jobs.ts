import { parentPort } from 'node:worker_threads'
import { messageOf } from '../../lib/util/errors.ts'

/** What a thread sends back for a job. */
export type JobOutcome<Answer> =
  { readonly ok: true; readonly answer: Answer } | { readonly ok: false; readonly message: string }

export interface JobAnswer<Answer> {
  readonly answer: Answer
  /** Handed over instead of copied. */
  readonly transfer: readonly ArrayBuffer[]
}

/** The whole life of a thread that a `JobThread` started: one answer for each job. */
export function serveJobs<Job, Answer>(
  work: (job: Job) => JobAnswer<Answer> | Promise<JobAnswer<Answer>>,
): void {
  const port = parentPort
  if (port === null) throw new Error('this file is the start of a thread')
  const answer = async (job: Job): Promise<void> => {
    try {
      const done = await work(job)
      const outcome: JobOutcome<Answer> = { ok: true, answer: done.answer }
      port.postMessage(outcome, done.transfer)
    } catch (error) {
      const message = messageOf(error)
      const outcome: JobOutcome<Answer> = { ok: false, message }
      port.postMessage(outcome)
    }
  }
  port.on('message', (job: Job) => void answer(job))
}
