import { expect } from 'chai'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Viewer } from '../../../src/server/http/authentication.ts'
import type { View } from '../../../src/server/gateway/views/view.ts'
import { RequestContext } from '../../../src/server/http/request-context.ts'
import { Views } from '../../../src/server/gateway/views/views.ts'

const idle = { pendingCalls: 0, tools: 0, sessions: 0, streams: 0, subscriptions: 0 }

describe('the views of users', () => {
  /** Names of the views that were asked, opened and closed, in order. */
  let log: string[]
  let views: Views

  beforeEach(() => {
    log = []
    const view = (name: string): View => ({
      endpoint: {
        handle: async () => void log.push(name),
        activity: () => ({ ...idle }),
        close() {},
      },
      download: undefined,
      close: () => void log.push(`close ${name}`),
    })
    views = new Views(view('all'), viewer => {
      const name = `${viewer.accountId} ${viewer.team}`
      log.push(`open ${name}`)
      return view(name)
    })
  })

  const ask = (viewer?: Partial<Viewer>, principal = 'user:x'): void => {
    const all = { accountId: 'ada', username: 'ada', team: 'fx', schemes: null, ...viewer }
    const context = new RequestContext('127.0.0.1')
    context.principal = principal
    context.viewer = viewer && all
    void views.handle({} as IncomingMessage, {} as ServerResponse, context)
  }

  it('are shared by the tokens of one account, and by no other', () => {
    ask({}, 'user:ada')
    ask({}, 'user:ada token:ci')
    ask({ schemes: ['scene'] })
    ask()
    ask({ accountId: 'ben' })
    expect(log).to.deep.equal([
      'open ada fx',
      'ada fx',
      'ada fx',
      'ada fx',
      'all',
      'open ben fx',
      'ben fx',
    ])
  })

  it('are different ones for users of another provider', () => {
    ask({ accountId: null }, 'https://idp ada')
    ask({ accountId: null }, 'https://idp ben')
    expect(log.filter(each => each.startsWith('open'))).to.have.length(2)
  })

  it('are new ones in another team, without what was before', () => {
    ask()
    ask({})
    ask({ team: 'lighting' })
    ask({})
    expect(log.slice(1)).to.deep.equal([
      'open ada fx',
      'ada fx',
      'close ada fx',
      'open ada lighting',
      'ada lighting',
      'close ada lighting',
      'open ada fx',
      'ada fx',
    ])
  })
})
