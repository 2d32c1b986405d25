// Takes the lock, says so and keeps it until it is killed.
import { takeFileLock } from '../../../src/lib/config/file-lock.ts'

const [path = ''] = process.argv.slice(2)
const lock = await takeFileLock(path, { waitMs: 20_000 })
process.stdout.write(lock.ok ? 'held\n' : 'busy\n')
process.stdin.resume()
