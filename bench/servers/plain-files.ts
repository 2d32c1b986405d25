/** What artefact uploads and downloads cost at least: the file work and nothing around it. */
import { hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, rename } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'

/** Hash, write, fsync, rename, fsync of the folder. */
export async function putDurably(folder: string, bytes: Uint8Array): Promise<string> {
  const hex = hash('sha256', bytes, 'hex')
  await mkdir(folder, { recursive: true })
  const temporary = join(folder, `${hex}.tmp`)
  const file = await open(temporary, 'w', 0o600)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, join(folder, hex))
  const directory = await open(folder, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
  return hex
}

export function sendFile(response: ServerResponse, file: string, size: number): void {
  response.writeHead(200, { 'Content-Type': 'application/octet-stream', 'Content-Length': size })
  createReadStream(file).pipe(response)
}
