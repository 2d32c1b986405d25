import { expect } from 'chai'
import { JobThread, scriptBeside } from '../../../src/server/thread/job-thread.ts'
import type { Order } from './test-thread.ts'

describe('JobThread', () => {
  /** What the thread waits for when it has nothing to do. */
  let idle: (() => void) | null = null
  const timer = {
    after(_: number, run: () => void) {
      idle = run
      return () => (idle = null)
    },
  }
  const script = scriptBeside(import.meta.url, 'test-thread')
  const thread = new JobThread<Order, string>({ script, idleMs: 1000, timer })
  const never = new AbortController().signal
  const say = (text: string): Promise<string> => thread.run({ say: text }, [], never)
  const refused = (order: Order): Promise<unknown> =>
    thread.run(order, [], never).then(
      () => 'done',
      (error: unknown) => (error as Error).message,
    )
  after(() => thread.close())

  it('answers each job with its own answer', async () => {
    const texts = ['a', 'b', 'c']
    expect(await Promise.all(texts.map(say))).to.deep.equal(texts)
  })

  it('passes on what a job throws, and goes on', async () => {
    expect(await refused({ fail: 'no ink' })).to.equal('no ink')
    expect(await say('on')).to.equal('on')
  })

  it('fails the job at which the thread ends, and starts another for the next', async () => {
    const [lost, next] = await Promise.all([refused({ exit: 3 }), say('next')])
    expect(lost).to.equal('the thread ended with code 3')
    expect(next).to.equal('next')
  })

  it('stops a job that does not end, and does those that wait', async () => {
    const stop = new AbortController()
    const stuck = thread.run({ hang: true }, [], stop.signal).catch((error: unknown) => error)
    const next = say('next')
    stop.abort(new Error('too long'))
    expect(await stuck).to.have.property('message', 'too long')
    expect(await next).to.equal('next')
  })

  it('takes a waiting job back without touching the one under way', async () => {
    const stop = new AbortController()
    const first = say('first')
    const waiting = thread.run({ say: 'no' }, [], stop.signal).catch(() => 'taken back')
    stop.abort()
    expect(await Promise.all([first, waiting])).to.deep.equal(['first', 'taken back'])
  })

  it('does not begin a job that is already given up', async () => {
    const aborted = AbortSignal.abort(new Error('before'))
    const error = await thread.run({ hang: true }, [], aborted).catch((e: unknown) => e)
    expect(error).to.have.property('message', 'before')
  })

  it('ends when it has been idle, and comes back', async () => {
    await say('work')
    expect(idle).to.not.equal(null)
    idle?.()
    expect(await say('again')).to.equal('again')
  })

  it('fails what is under way and what waits when it is closed', async () => {
    const both = Promise.all([refused({ hang: true }), refused({ say: 'x' })])
    await thread.close()
    expect(await both).to.deep.equal(['the thread was ended', 'the thread was ended'])
  })
})
