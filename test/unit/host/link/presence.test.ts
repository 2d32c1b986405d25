import { expect } from 'chai'
import {
  type Presence,
  PresenceNews,
  presencePatch,
} from '../../../../src/server/host/link/presence.ts'
import { recordingLog } from '../../../helpers/recording-log.ts'

const app = { dccType: 'blender', mode: 'gui', version: '3.4.1', pid: 47 } as const
const linked: Presence = {
  connected: true,
  app: { ...app, displayName: 'Blender 3.4' },
  document: { path: '/shots/010.blend', name: '010.blend' },
  busy: false,
  pictures: { targets: [], denied: false },
}
const given = { dccType: 'unknown', named: false, hostname: 'rig' }

describe('presencePatch', () => {
  it('shows who is connected, and what is open', () => {
    expect(presencePatch(linked, given)).to.deep.equal({
      dcc_type: 'blender',
      display_name: 'Blender 3.4 on rig',
      host: { connected: true, app_pid: 47, version: '3.4.1', mode: 'gui' },
      scene: '/shots/010.blend',
      status: 'available',
    })
  })

  const gone = { connected: false, app_pid: null, version: null, mode: null }
  const changes: [what: string, presence: Partial<Presence>, given: object, patch: object][] = [
    ['the given kind', {}, { dccType: 'maya' }, { dcc_type: 'maya' }],
    ['busy', { busy: true }, {}, { status: 'busy' }],
    ['nobody as available', { busy: true, connected: false }, {}, { status: 'available' }],
    ['that the link is lost', { connected: false }, {}, { host: gone, dcc_type: 'blender' }],
    ['the name of a document never saved', { document: { name: 'new' } }, {}, { scene: 'new' }],
    [
      'no application at all',
      { connected: false, app: null },
      {},
      { host: gone, dcc_type: 'unknown' },
    ],
    ['no document', { document: null }, {}, { scene: null }],
    [
      'what the application does not say as null',
      { app: { dccType: 'x', mode: 'background' } },
      {},
      { host: { connected: true, app_pid: null, version: null, mode: 'background' } },
    ],
  ]
  for (const [what, presence, other, patch] of changes) {
    it(`shows ${what}`, () => {
      const shown = presencePatch({ ...linked, ...presence }, { ...given, ...other })
      expect(shown).to.deep.include(patch)
    })
  }

  it('leaves a given name alone', () => {
    expect(presencePatch(linked, { ...given, named: true })).not.to.have.property('display_name')
  })
})

describe('PresenceNews', () => {
  it('tells a follower what was said before it came, and all after that', () => {
    const news = new PresenceNews(recordingLog())
    const seen: Presence[] = []
    news.next(linked)
    news.follow(presence => seen.push(presence))
    const later = { ...linked, busy: true }
    news.next(later)
    expect(seen).to.deep.equal([linked, later])
  })

  it('logs each new document once', () => {
    const log = recordingLog()
    const news = new PresenceNews(log)
    news.next(linked)
    news.next({ ...linked, busy: true })
    news.next({ ...linked, document: null })
    news.next({ ...linked, document: { path: '/b.blend' } })
    expect(log.lines.map(({ text }) => text)).to.deep.equal([
      'document open in the application {"document":"/shots/010.blend"}',
      'document open in the application {"document":"/b.blend"}',
    ])
  })
})
