// Registers and refreshes until it is killed; prints what was acknowledged. Arguments: file, round.
import { writeSync } from 'node:fs'
import { openSqliteStore } from '../../../src/server/accounts/sqlite/sqlite-store.ts'
import { startMs } from '../settable-clock.ts'
import { newAccount, newSession } from '../new-account.ts'

const [file = '', round = ''] = process.argv.slice(2)
const store = await openSqliteStore({ file, clock: { now: () => Date.now() } })

async function writeForEver(lane: number): Promise<never> {
  for (let at = 0; ; at++) {
    const name = `r${round}l${lane}n${at}`
    const session = newSession(`account-${name}`, `session-${name}`)
    await store.createAccount(newAccount(name), { session })
    writeSync(1, `created ${name}\n`)
    for (let counter = 0; counter < 3; counter++) {
      await store.rotateSession(session.id, counter, startMs)
      writeSync(1, `rotated ${name} ${counter + 1}\n`)
    }
  }
}

await Promise.all([writeForEver(0), writeForEver(1)])
