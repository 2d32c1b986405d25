// Takes the lock, says so and keeps it until it is killed.
import { withFileLock } from '../../../src/lib/config/private-file.ts'

const [path = ''] = process.argv.slice(2)
const hold = async (): Promise<void> => {
  process.stdout.write('held\n')
  process.stdin.resume()
  await new Promise(() => {})
}
await withFileLock(path, hold, 20_000)
