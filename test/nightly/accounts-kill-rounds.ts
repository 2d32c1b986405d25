import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { verifyBackup } from '../../src/server/accounts/sqlite/backup.ts'
import { openSqliteStore } from '../../src/server/accounts/sqlite/sqlite-store.ts'
import { settableClock } from '../helpers/settable-clock.ts'

const script = join(import.meta.dirname, '../helpers/scripts', 'write-loop.ts')

/**
 * Kills a process in the middle of its writes, `rounds` times on one database. After each kill
 * everything acknowledged must be there, every account must have its session, and the file be whole.
 */
export async function killRounds(folder: string, rounds: number): Promise<void> {
  const file = join(folder, 'registry.db')
  let acknowledged = 0
  for (let round = 0; round < rounds; round++) {
    const lines = await writeUntilKilled(file, round, 1 + (((round + 1) * 37) % 211))
    acknowledged += lines.length
    // The log of the process that was killed: the next one has something to recover.
    expect(statSync(`${file}-wal`).size).to.be.greaterThan(0)

    const store = await openSqliteStore({ file, clock: settableClock() })
    for (const line of lines) {
      const [what, name, counter] = line.split(' ')
      const found = await store.findSession(`session-${name}`)
      if (found === null) throw new Error(`${name} was acknowledged but is not there`)
      if (what === 'rotated') expect(found.session.counter).to.be.at.least(Number(counter))
    }
    const facts = await verifyBackup(file)
    expect(facts.sessions).to.equal(facts.accounts)
    await store.close()
  }
  expect(acknowledged).to.be.greaterThan(rounds * 10)
}

async function writeUntilKilled(file: string, round: number, count: number): Promise<string[]> {
  const args = [script, file, String(round)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  let text = ''
  child.stdout.setEncoding('utf8')
  for await (const chunk of child.stdout) {
    text += chunk
    if (!child.killed && text.split('\n').length > count) child.kill('SIGKILL')
  }
  await ended
  // The last one may have been cut; what is before it was acknowledged.
  return text.split('\n').slice(0, -1)
}
