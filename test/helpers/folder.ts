import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Runs `use` with a new folder and removes it afterwards. */
export async function withFolder<Value>(
  use: (path: string) => Promise<Value> | Value,
): Promise<Value> {
  const path = await mkdtemp(join(tmpdir(), 'service-cli-test-'))
  try {
    return await use(path)
  } finally {
    await rm(path, { recursive: true, force: true })
  }
}
