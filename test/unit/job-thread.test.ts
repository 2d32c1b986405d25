import { expect } from 'chai'
import { JobThread, scriptBeside } from '../../src/server/thread/job-thread.ts'
import type { Order } from './job-thread-jobs.ts'

describe('JobThread', () => {
  /** What the thread waits for when it has nothing to do. */
  let idle: (() => void) | null = null
  const timer = {
    after(_: number, run: () => void) {
      idle = run
      return () => (idle = null)
    },
  }
  const script = scriptBeside(import.meta.url, 'job-thread-jobs')
  const thread = new JobThread<Order, string>({ script, idleMs: 1000, timer })
  const never = new AbortController().signal
  const say = (text: string) => thread.run({ say: text }, [], never)
  /** The message of the error that the job fails with. */
  const failed = (order: Order, signal = never): Promise<string> =>
    thread.run(order, [], signal).then(
      () => 'done',
      (error: Error) => error.message,
    )
  after(() => thread.close())

  it('answers each job with its own answer', async () => {
    const texts = ['a', 'b', 'c']
    expect(await Promise.all(texts.map(say))).to.deep.equal(texts)
  })

  it('passes on what a job throws, and goes on', async () => {
    expect(await failed({ fail: 'no ink' })).to.equal('no ink')
    expect(await say('on')).to.equal('on')
  })

  it('fails the job at which the thread ends, and starts another for the next', async () => {
    const [lost, next] = await Promise.all([failed({ exit: 3 }), say('next')])
    expect([lost, next]).to.deep.equal(['the thread ended with code 3', 'next'])
  })

  it('stops a job that does not end, and does those that wait', async () => {
    const stop = new AbortController()
    const stuck = failed({ hang: true }, stop.signal)
    const next = say('next')
    stop.abort(new Error('too long'))
    expect(await Promise.all([stuck, next])).to.deep.equal(['too long', 'next'])
  })

  it('takes a waiting job back without touching the one under way', async () => {
    const stop = new AbortController()
    const first = say('first')
    const waiting = failed({ say: 'no' }, stop.signal)
    stop.abort(new Error('taken back'))
    expect(await Promise.all([first, waiting])).to.deep.equal(['first', 'taken back'])
    expect(await failed({ hang: true }, stop.signal)).to.equal('taken back')
  })

  it('ends when it has been idle, and comes back', async () => {
    await say('work')
    expect(idle).to.not.equal(null)
    idle?.()
    expect(await say('again')).to.equal('again')
  })

  it('fails what is under way and what waits when it is closed', async () => {
    const both = Promise.all([failed({ hang: true }), failed({ say: 'x' })])
    await thread.close()
    expect(await both).to.deep.equal(['the thread was ended', 'the thread was ended'])
  })
})
