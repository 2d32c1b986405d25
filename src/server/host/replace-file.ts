import { rename, rm, writeFile } from 'node:fs/promises'

/** Writes a private file (0600). Readers see the old text or the new one; an error keeps the old. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`
  try {
    await writeFile(temporary, text, { mode: 0o600 })
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {})
    throw error
  }
}
