import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'chai'
import { processStart } from '../../../src/lib/process-start.ts'
import {
  endResident,
  type ProcessFacts,
  whyNotEnd,
} from '../../../src/server/gateway/end-resident.ts'
import { skipBecause } from '../../helpers/skip.ts'
import { makeResident } from './residents.ts'

const claim = makeResident()
const same: ProcessFacts = {
  holderPid: claim.pid,
  startedNow: claim.pidStart,
  uid: 1000,
  ownUid: 1000,
  ownPid: 1,
}

describe('whyNotEnd', () => {
  it('has nothing against the process that wrote itself down and listens', () => {
    expect(whyNotEnd(claim, same)).to.equal(null)
  })

  const refused: [Partial<ProcessFacts>, reason: string][] = [
    [{ holderPid: null }, 'does not say'],
    [{ startedNow: null }, 'does not say'],
    [{ uid: null }, 'does not say'],
    [{ holderPid: 4712 }, 'process 4712 has the port'],
    [{ startedNow: 'boot:101' }, 'not the one that was the gateway'],
    [{ uid: 1001 }, 'another user'],
    [{ ownPid: claim.pid }, 'this process'],
  ]
  for (const [facts, reason] of refused) {
    it(`is against it for ${JSON.stringify(facts)}`, () => {
      expect(whyNotEnd(claim, { ...same, ...facts })).to.contain(reason)
    })
  }

  it('is against it when the start of the process was never known', () => {
    const unknown = makeResident({ pidStart: null })
    expect(whyNotEnd(unknown, same)).to.contain('not the one that was the gateway')
  })
})

describe('endResident', () => {
  /** Listens on a port, and does what it is told about SIGTERM. */
  async function startListener(onTerm: string) {
    const code = `process.on('SIGTERM', () => { ${onTerm} })
      const server = require('node:net').createServer().listen(0, '127.0.0.1', () => console.log(server.address().port))`
    const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = await once(child.stdout, 'data')
    const pid = child.pid ?? 0
    const resident = makeResident({ pid, pidStart: await processStart(pid) })
    return { child, pid, port: Number(String(line)), resident }
  }

  before(function () {
    if (process.platform !== 'linux') skipBecause(this, 'needs Linux')
  })

  it('asks first', async () => {
    const { child, port, resident } = await startListener('process.exit(0)')
    const exited = once(child, 'exit')
    const outcome = await endResident({ port, claim: resident, graceMs: 10_000 })
    expect(outcome.ended).to.equal(true)
    expect(outcome.reason).to.contain('SIGTERM')
    expect(await exited).to.deep.equal([0, null])
  })

  it('insists when it is not heard', async () => {
    const { child, port, resident } = await startListener('')
    const exited = once(child, 'exit')
    const outcome = await endResident({ port, claim: resident, graceMs: 300 })
    expect(outcome.ended).to.equal(true)
    expect(outcome.reason).to.contain('SIGKILL')
    expect(await exited).to.deep.equal([null, 'SIGKILL'])
  })

  it('lets a process live that only let go of the port', async () => {
    const stay = 'server.close(); setInterval(() => {}, 1000)'
    const { child, port, resident } = await startListener(stay)
    try {
      const outcome = await endResident({ port, claim: resident, graceMs: 300 })
      expect(outcome.ended).to.equal(true)
      expect(outcome.reason).to.contain('let go of the port')
      expect(child.exitCode ?? child.signalCode).to.equal(null)
    } finally {
      child.kill('SIGKILL')
    }
  })

  for (const [what, wrong] of [
    ['of another start', { pidStart: 'boot:1' }],
    ['that does not listen', { pid: process.pid }],
  ] as const) {
    it(`touches no process ${what}`, async () => {
      const { child, port, resident } = await startListener('process.exit(0)')
      try {
        const outcome = await endResident({ port, claim: { ...resident, ...wrong }, graceMs: 50 })
        expect(outcome.ended).to.equal(false)
        expect(child.exitCode ?? child.signalCode).to.equal(null)
      } finally {
        child.kill('SIGKILL')
      }
    })
  }

  it('touches nobody without a claim', async () => {
    const outcome = await endResident({ port: 1, claim: null, graceMs: 50 })
    expect(outcome.ended).to.equal(false)
  })
})
