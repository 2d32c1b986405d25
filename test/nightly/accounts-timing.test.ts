import { expect } from 'chai'
import { createCaller } from '../helpers/accounts-caller.ts'
import { ask } from '../helpers/mcp.ts'
import { startAccountsProcess } from '../helpers/accounts-process.ts'

const samples = 200
const attempts = 4
/** Failures of so many names, each from an address of its own: no limit refuses any. */
const names = 20
const flags = ['--trusted-proxy', '127.0.0.1', '--registration', 'open']

describe('the time that a refused login takes', () => {
  it('is the same for an unknown name and for a wrong password', async () => {
    const registry = await startAccountsProcess({ flags })
    try {
      const caller = createCaller(registry.url)
      for (let at = 0; at < names; at++) await caller.register(`known${at}`)
      let tried = 0
      const timed = async (kind: 'known' | 'nobody', at: number) => {
        const address = `10.0.${tried >> 8}.${tried++ & 255}`
        const username = `${kind}${at % names}`
        const startedMs = performance.now()
        const { status } = await ask(`${registry.url}/api/v1/auth/login`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': address },
          body: JSON.stringify({ username, password: 'not the password' }),
        })
        expect(status).to.equal(401)
        return performance.now() - startedMs
      }
      const ratios: number[] = []
      for (let attempt = 0; attempt < attempts; attempt++) {
        const known: number[] = []
        const unknown: number[] = []
        for (let at = 0; at < samples; at++) {
          // In turns, and each first as often: what the machine does meanwhile hits both.
          const turns = [
            async () => known.push(await timed('known', at)),
            async () => unknown.push(await timed('nobody', at)),
          ]
          for (const turn of at % 2 === 0 ? turns : turns.toReversed()) await turn()
        }
        ratios.push(median(known) / median(unknown))
        if (isClose(ratios.at(-1) ?? 0)) break
      }
      expect(ratios.some(isClose), `medians of known to unknown: ${ratios.join(', ')}`).to.equal(
        true,
      )
    } finally {
      await registry.stop()
    }
  })
})

function isClose(ratio: number): boolean {
  return ratio > 1 / 1.1 && ratio < 1.1
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0
}
