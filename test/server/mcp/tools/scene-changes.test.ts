import { expect } from 'chai'
import { nothingFollowed } from '../../../../src/lib/mcp/change-words.ts'
import { startServer, type TestServer, toolCall } from '../../../helpers/mcp.ts'
import { callStateless } from '../../../helpers/stateless.ts'

const object = (name: string, more: object = {}) => ({ id: name, name, type: 'mesh', ...more })
const at = (...translate: number[]) => ({ translate })

describe('scene_changes', () => {
  let server: TestServer
  before(async () => (server = await startServer({ enableTools: true })))

  /** The words about the last change, without those of the headline and the last line. */
  async function changes(args: object = {}): Promise<readonly string[]> {
    const { json } = await callStateless(server.url, 'tools/call', toolCall('scene_changes', args))
    const [head = '', ...lines] = json.result.content[0].text.split('\n')
    expect(lines.pop()).to.match(/^go on with since=\d+, run=\w+$/)
    return [head.replace(/^.*?: /, ''), ...lines.map((line: string) => line.replace(/^- /, ''))]
  }

  const two = { objects: [object('A', at(0, 0, 0)), object('B', at(6, 6, 6))] }
  const rows: [what: string, before: object, after: object, words: readonly string[]][] = [
    ['another order', two, { objects: two.objects.toReversed() }, [nothingFollowed]],
    [
      'an object with a stable identity',
      { objects: [object('Cube', { uid: 1, ...at(0, 0, 0) }), object('B', { uid: 2 })] },
      { objects: [object('B', { uid: 2 }), object('Hero', { uid: 1, ...at(0.5, 0, 0) })] },
      ['1 object or setting changed', 'Cube renamed Hero, moved 0.50 along x'],
    ],
  ]
  for (const [what, before, after, words] of rows) {
    it(`tells of ${what}, whether the scene came whole or in patches`, async () => {
      const resources = server.server.resources()
      const { objects, ...members } = after as any
      const ids = (before as any).objects.map(({ id }: any) => id)
      const gone = ids.filter((id: string) => !objects.some((each: any) => each.id === id))
      for (const isPatched of [false, true]) {
        resources.setScene(before)
        const since = resources.scene.current.revision
        // Objects that are removed and added again are at the end of a scene that is patched.
        if (isPatched && gone.length === 0) resources.patchScene({ removed: ids, unset: [] })
        if (isPatched) resources.patchScene({ objects, members, removed: gone })
        else resources.setScene(after)
        expect(await changes({ since }), String(isPatched)).to.deep.equal(words)
      }
    })
  }

  it('keeps all digits, and half characters become whole ones', async () => {
    const resources = server.server.resources()
    resources.scene.setText('{"objects":[{"id":9007199254740993,"n":"a","x":1.0}]}')
    resources.scene.setText('{"objects":[{"id":9007199254740993,"n":"\\ud83d","x":1}]}')
    expect(await changes()).to.deep.equal([
      '2 objects or settings changed',
      '9007199254740993 n a → \ufffd',
      'warnings.0 added',
    ])
  })

  it('says why the changes since a revision are not known, and what to do', async () => {
    const { scene } = server.server.resources()
    expect(await changes({ since: 9999 })).to.deep.equal([
      'revision 9999 is not kept',
      'read the scene again (query_scene)',
    ])
    const since = scene.replaceText('{}', 'run-1')
    scene.replaceText('{}', 'run-2')
    expect(await changes({ since })).to.deep.equal([
      'the scene was shared anew, and may be of another document',
      'read the scene again (query_scene)',
    ])
  })
})
