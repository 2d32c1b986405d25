import { expect } from 'chai'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../helpers/until.ts'
import type { Remote } from '../helpers/blender-remote.ts'
import {
  type LinkedBlender,
  needWindowedBlender,
  startConnected,
  startLinkedBlender,
} from '../helpers/linked-blender.ts'
import { RawSession, toolCall } from '../helpers/mcp.ts'

const rounds = Number(process.env['BLENDER_KILL_ROUNDS'] ?? 2)
const notesPerRound = 8
const waitMs = 30_000

describe('notes of a Blender that is killed while it makes them', function () {
  this.timeout(60_000 + rounds * 40_000)
  let linked: LinkedBlender
  let session: RawSession

  before(async function () {
    needWindowedBlender(this)
    linked = await startLinkedBlender({ deadlineMs: 60_000 + rounds * 40_000 })
    session = await RawSession.open(linked.serving.url)
  })
  after(async () => linked?.stop())

  const all = async (): Promise<any[]> =>
    ((await session.readJson('notes://all?limit=1000')) as any).notes

  it('are whole, in order and shown by the next Blender; an answer meanwhile is kept', async () => {
    const lost: string[] = []
    let blender: Remote = linked.blender
    await blender.tell('save') // notes are kept by file
    for (let round = 1; round <= rounds; round++) {
      const before = await all()
      const shown = async () => ((await blender.ask('notes')) as any).states.length
      await until(async () => (await shown()) === before.length, 'all notes in Blender', waitMs)
      const pid = await blender.ask('pid')
      await blender.tell(`make_notes ${round} ${notesPerRound}`)
      const isMade = async () => (await all()).some(({ text }) => text === `${round}.0`)
      await until(isMade, 'the first note of the round', waitMs)
      const given = { id: String(before.length + 1), text: `answer ${round}` }
      const answered = session.call('tools/call', toolCall('answer_note', given))
      await sleep(Math.random() * 2500)
      const seen = await all()
      process.kill(pid, 'SIGKILL')
      await blender.run.exited
      expect((await answered).result.structuredContent.state).to.equal('answered')
      const kept = await all()
      lost.push(
        ...seen.filter(({ id }) => !kept.some(each => each.id === id)).map(each => each.text),
      )
      expect(kept.map(({ number }) => number)).to.deep.equal(kept.map((_, at) => at + 1))
      for (const { id, text } of kept.slice(before.length)) {
        expect(text).to.match(new RegExp(String.raw`^${round}\.\d$`))
        await checkPictures(id)
      }
      blender = await startConnected(linked.addon, linked.registryDir)
      await blender.tell('load')
      // Until then the server has the notes of the unsaved file with which Blender starts.
      await until(async () => (await all()).length === kept.length, 'the loaded file', waitMs)
      linked.replace(blender)
    }
    expect(lost).to.deep.equal([])
    expect(linked.serving.log()).not.to.contain('a note cannot be read')
  })

  /** Each that a note names is there; where there is none, the note says why. */
  async function checkPictures(id: string): Promise<void> {
    const note = (await session.readJson(`notes://${id}`)) as any
    const proofs = note.entries.map(({ proof }: any) => proof).filter(Boolean)
    for (const { before, after, no_picture } of [note, ...proofs]) {
      const uri = before ?? after
      if (uri === undefined) expect(no_picture).to.be.a('string')
      else {
        const { result } = await session.call('resources/read', { uri })
        expect(Buffer.from(result.contents[0].blob, 'base64').toString('latin1', 1, 4)).to.equal(
          'PNG',
        )
      }
    }
  }
})
