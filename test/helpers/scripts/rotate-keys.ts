// Rotates the keys so many times. Arguments: file, count.
import { openFileKeys } from '../../../src/server/accounts/keys/file-keys.ts'
import { settableClock } from '../settable-clock.ts'
import { day } from '../new-account.ts'

const [file = '', count = ''] = process.argv.slice(2)
const lifetimes = { accessTokenMs: day, refreshTokenMs: 30 * day }
const options = { file, clock: settableClock(), lifetimes, rotationMs: 90 * day, busyMs: 50_000 }
const keys = await openFileKeys(options)
for (let round = 0; round < Number(count); round++) await keys.rotate()
