import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { newFolder } from '../helpers/cleanup.ts'
import { exitOf } from '../helpers/program.ts'
import { bytesOf, openFolder, sha256 } from '../unit/artefacts/support.ts'

const script = join(import.meta.dirname, '../helpers/scripts', 'put-loop.ts')
const rounds = Number(process.env['KILL_ROUNDS'] ?? 3)

describe('artefact store under kill -9', () => {
  it(`keeps every acknowledged artefact through ${rounds} kills, and serves no half one`, async function () {
    this.timeout(rounds * 10_000)
    const root = newFolder()
    // Otherwise no kill hit a put, and nothing was shown.
    expect(await killRounds(root)).to.be.greaterThan(0)
  })
})

/**
 * Kills a process in the middle of its puts, again and again on one folder. After each kill every
 * acknowledged artefact must be there and verify, no other may be damaged, nothing may be left.
 * Returns how many files of unfinished puts the kills left behind.
 */
async function killRounds(root: string): Promise<number> {
  const acknowledged = new Set<string>()
  let leftovers = 0
  for (let round = 0; round < rounds; round++) {
    const fresh = await putUntilKilled(root, 1 + (((round + 1) * 7) % 23), round % 10)
    for (const hex of fresh) acknowledged.add(hex)
    leftovers += countLeftovers(root)

    const store = await openFolder(root, {}, { now: () => Date.now() + 2 * 3600_000 })
    const stored = new Set<string>()
    let after: string | undefined
    do {
      const page = await store.page(after, 500)
      for (const ref of page.refs) stored.add(ref.digest.slice('sha256:'.length))
      after = page.next
    } while (after !== undefined)
    for (const hex of acknowledged) expect(stored.has(hex), `${hex} is listed`).to.equal(true)
    // Artefacts of earlier rounds were read in theirs.
    for (const hex of stored) {
      if (acknowledged.has(hex) && !fresh.includes(hex)) continue
      expect(sha256(await bytesOf(store, hex))).to.equal(hex)
    }
    expect(readdirSync(join(root, 'tmp'))).to.deep.equal([])
    for (const shard of readdirSync(join(root, 'sha256'))) {
      const names = readdirSync(join(root, 'sha256', shard))
      const bodies = names.filter(name => !name.endsWith('.json'))
      expect(names.toSorted()).to.deep.equal(bodies.flatMap(hex => [hex, `${hex}.json`]).toSorted())
    }
    await store.close()
  }
  expect(acknowledged.size).to.be.greaterThan(rounds)
  return leftovers
}

/** How many files are of no artefact. */
function countLeftovers(root: string): number {
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' })
  return names.filter(name => {
    const isTemporary = name.startsWith('tmp/')
    const isBody = /^sha256.*\/[0-9a-f]{64}$/.test(name)
    return isTemporary || (isBody && !names.includes(`${name}.json`))
  }).length
}

/** Kills after `count` acknowledgements plus up to `turns` turns of the event loop. */
async function putUntilKilled(root: string, count: number, turns: number): Promise<string[]> {
  const child = spawn(process.execPath, [script, root], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.setEncoding('utf8')
  for await (const chunk of child.stdout) {
    text += chunk
    if (text.split('\n').length <= count || child.killed) continue
    for (let turn = 0; turn < turns; turn++) await new Promise(resolve => setImmediate(resolve))
    child.kill('SIGKILL')
  }
  await exitOf(child)
  return text.split('\n').filter(line => line.length === 64)
}
