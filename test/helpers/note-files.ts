import { RawSession } from './mcp.ts'
import type { RunningServe } from './serve-process.ts'
import { expect } from 'chai'
import { randomInt } from 'node:crypto'
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** The folder of the note with this id, below a folder of documents. */
export async function folderOfNote(documents: string, id: string): Promise<string> {
  const paths = await readdir(documents, { recursive: true })
  for (const path of paths.filter(each => basename(each) === '0000-add.json')) {
    const { id: found } = JSON.parse(await readFile(join(documents, path), 'utf8'))
    if (found === id) return join(documents, dirname(path))
  }
  throw new Error(`there is no note ${id} in ${documents}`)
}

/** Writes a note beside another one, as a server does; its further files by name. */
export async function writeNote(
  beside: string,
  number: number,
  note: Record<string, unknown>,
  files: Record<string, object> = {},
): Promise<string> {
  const folder = join(dirname(beside), String(number).padStart(4, '0'))
  const { number: _, state: __, entries: ___, ...added } = note
  await mkdir(folder, { mode: 0o700, recursive: true })
  for (const [name, value] of Object.entries({ '0000-add.json': added, ...files })) {
    await writeFile(join(folder, name), JSON.stringify(value), { mode: 0o600 })
  }
  return folder
}

const answersPerRound = 3

/**
 * Several servers write notes of one document, and take actions on all of them, for a while. Then
 * each of them shows every action that was acknowledged, and none twice.
 */
export async function writeTogether(
  servers: readonly RunningServe[],
  path: string,
  forMs: number,
): Promise<{ notes: number; actions: number }> {
  for (const server of servers) {
    expect((await server.post('app', { document: { path } })).status).to.equal(200)
  }
  const acknowledged = new Set<string>()
  const ids: string[] = []
  const until = performance.now() + forMs
  let count = 0
  const write = async (server: RunningServe, path_: string, members: object = {}) => {
    const text = `said ${count++}`
    const { status, json } = await server.post(path_, { text, ...members })
    // Another action may have come before: the state does not take this one then.
    expect(status, JSON.stringify(json)).to.be.oneOf([200, 409, 429])
    if (status === 200) acknowledged.add(text)
    return status === 200 ? json.note : null
  }
  const writer = async (server: RunningServe) => {
    while (performance.now() < until) {
      const id = ids[randomInt(0, Math.max(ids.length, 1))]
      if (id === undefined || randomInt(0, 8) === 0) {
        const made = await write(server, 'notes')
        if (made !== null) ids.push(made.id)
      } else {
        const action = randomInt(0, 2) === 0 ? 'close' : 'reopen'
        await write(server, `notes/${id}/${action}`)
      }
    }
  }
  const answers = servers.flatMap(server =>
    Array.from({ length: answersPerRound }, async () => {
      const made = await write(server, 'notes')
      if (made !== null) await write(server, `notes/${made.id}/answer`)
    }),
  )
  await Promise.all([...answers, ...servers.flatMap(server => [writer(server), writer(server)])])
  const shown = await Promise.all(servers.map(textsAt))
  for (const { numbers, texts } of shown) {
    expect(texts).to.deep.equal(shown[0]?.texts)
    expect(numbers).to.deep.equal(numbers.map((_: number, at: number) => at + 1))
    expect(new Set(texts).size, 'no action twice').to.equal(texts.length)
    expect(
      [...acknowledged].filter(text => !texts.includes(text)),
      'lost',
    ).to.deep.equal([])
  }
  return { notes: shown[0]?.numbers.length ?? 0, actions: shown[0]?.texts.length ?? 0 }
}

async function textsAt({ url }: RunningServe) {
  const session = await RawSession.open(url)
  const { notes } = (await session.readJson('notes://all')) as any
  const texts: string[] = []
  for (const { id } of notes) {
    const { text, entries } = (await session.readJson(`notes://${id}`)) as any
    texts.push(text, ...entries.map((each: any) => each.text))
  }
  return { numbers: notes.map(({ number }: any) => number), texts }
}
