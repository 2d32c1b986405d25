// Takes the lock, says so and keeps it until it is killed.
import { once } from 'node:events'
import { withFileLock } from '../../../src/lib/config/private-file.ts'

const [path = ''] = process.argv.slice(2)
const hold = async (): Promise<void> => {
  process.stdout.write('held\n')
  await once(process.stdin.resume(), 'end')
}
await withFileLock(path, hold, 20_000)
