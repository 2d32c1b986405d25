import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Browser, Frame, FrameLocator, Page } from 'playwright-core'
import { atEnd } from '../helpers/cleanup.ts'
import { startBrowser } from '../helpers/browser.ts'
import { listening } from '../helpers/listening.ts'

/** What the scripts of the chat are told. */
export interface OpenSettings {
  readonly mcpUrl: string
  readonly sandboxUrl: string
  readonly tool: string
  /** Of the chat: its theme, its styles, its size. */
  readonly context: object
}

export interface Opened {
  readonly uri: string
  readonly mimeType: string
  readonly html: string
}

export interface OpenOptions {
  readonly context?: object
  readonly width?: number
  /** Without it the app is bound by its own policy alone. Default true. */
  readonly hasPolicy?: boolean
  /** The time of the page can be set forward. Default false. */
  readonly hasClock?: boolean
}

/** A chat page with an open app. */
export interface Chat {
  readonly page: Page
  readonly app: FrameLocator
  /** The frame of the app. */
  readonly frame: Frame
  readonly opened: Opened
  /** Tool calls that reached the network since the chat was opened. */
  readonly calls: readonly string[]
  run(call: string): Promise<unknown>
}

/** A chat client that shows MCP Apps, in Chromium: its page and its sandbox have two origins. */
export class ChatHost {
  readonly origin: string
  readonly sandboxOrigin: string
  /** What both pages were asked for. */
  readonly requested: readonly string[]
  readonly #browser: Browser

  private constructor(
    origins: [host: string, sandbox: string],
    requested: readonly string[],
    browser: Browser,
  ) {
    ;[this.origin, this.sandboxOrigin] = origins
    this.requested = requested
    this.#browser = browser
  }

  /** Skips the suite where no browser is installed. */
  static async start(context: Mocha.Context): Promise<ChatHost> {
    const browser = await startBrowser(context)
    const requested: string[] = []
    const [host, sandbox] = await Promise.all([
      servePage('host', requested),
      servePage('sandbox', requested),
    ])
    return new ChatHost([host, sandbox], requested, browser)
  }

  /** A model calls the tool; the chat opens the app that the tool names. */
  async open(
    mcpUrl: string,
    tool: string,
    { context = {}, width = 700, hasPolicy = true, hasClock = false }: OpenOptions = {},
  ): Promise<Chat> {
    const page = await this.#browser.newPage({ viewport: { width, height: 800 } })
    atEnd(() => page.close())
    const calls: string[] = []
    page.on('request', request => {
      const { method, params } = (request.postDataJSON() ?? {}) as Record<string, any>
      if (method === 'tools/call') calls.push(params.name)
    })

    if (hasClock) await page.clock.install()
    await page.goto(this.origin)
    const sandboxUrl = `${this.sandboxOrigin}/${hasPolicy ? '' : 'free'}`
    const settings: OpenSettings = { mcpUrl, sandboxUrl, tool, context }
    const run = (call: string) => page.evaluate(`chat.${call}`)
    const opened = (await run(`open(${JSON.stringify(settings)})`)) as Opened
    const app = page.frameLocator('iframe').frameLocator('iframe')
    const frame = page.frames().at(-1)!
    return { page, app, frame, opened, calls, run }
  }
}

/** A page with one script of `test/page/chat/`, on a port of its own. */
async function servePage(name: 'host' | 'sandbox', requested: string[]) {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(`../page/chat/${name}.ts`, import.meta.url))],
    bundle: true,
    format: 'iife',
    write: false,
  })
  const server = createServer((req, res) => {
    requested.push(req.url ?? '')
    const { pathname, searchParams } = new URL(req.url ?? '/', 'http://127.0.0.1')
    if (pathname === '/script.js') {
      res.setHeader('Content-Type', 'text/javascript').end(outputFiles[0]!.text)
      return
    }
    const csp = searchParams.get('csp')
    if (csp !== null && pathname === '/')
      res.setHeader('Content-Security-Policy', policyOf(JSON.parse(csp)))
    res.setHeader('Content-Type', 'text/html').end(documentText)
  })
  return `http://127.0.0.1:${await listening(server)}`
}

const style = 'body { margin: 0 } iframe { border: 0; width: 100%; height: 100%; display: block }'
const documentText = `<!doctype html><link rel="icon" href="data:"><style>html, body { height: 100% } ${style}</style><body><script src="/script.js"></script>`

/** The policy that the specification of MCP Apps derives from `_meta.ui.csp`. */
function policyOf({ connectDomains = [], resourceDomains = [] }: Record<string, string[]>) {
  const listed = (domains: string[], none: string) => domains.join(' ') || none
  const resources = resourceDomains.join(' ')
  return [
    `default-src 'none'`,
    `script-src 'self' 'unsafe-inline' ${resources}`,
    `style-src 'self' 'unsafe-inline' ${resources}`,
    `img-src 'self' data: ${resources}`,
    `connect-src ${listed(connectDomains, "'none'")}`,
  ].join('; ')
}
