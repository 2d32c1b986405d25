import { hash } from 'node:crypto'
import { mkdir, open, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const folder = join(dirname(process.env.BENCH_FIXTURE ?? ''), 'uploads')

/** What an upload costs at least: hash, write, fsync, rename, fsync of the folder. */
export async function putDurably(bytes: Uint8Array): Promise<void> {
  const hex = hash('sha256', bytes, 'hex')
  await mkdir(folder, { recursive: true })
  const temporary = join(folder, `${hex}.tmp`)
  await using file = await open(temporary, 'w', 0o600)
  await file.writeFile(bytes)
  await file.sync()
  await rename(temporary, join(folder, hex))
  await using directory = await open(folder, 'r')
  await directory.sync()
}
