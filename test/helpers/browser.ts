import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Frame,
  type Page,
} from 'playwright-core'
import { atEnd } from './cleanup.ts'
import { skipBecause } from './skip.ts'

const program = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find(existsSync)

/** Starts the Chromium of Debian, or skips the suite where it is not installed. */
export async function startBrowser(context: Mocha.Context, args: string[] = []): Promise<Browser> {
  if (program === undefined) skipBecause(context, 'chromium-headless-shell is not installed')
  const options = { executablePath: program, args: ['--no-sandbox', ...args] }
  const browser = await chromium.launch(options)
  atEnd(() => browser.close())
  return browser
}

export interface Visit {
  readonly context: BrowserContext
  readonly page: Page
  /** What the console and failed scripts said: warnings and errors. */
  readonly complaints: string[]
  /** Every address that was asked for. */
  readonly requests: string[]
  /** Opens the page of the server, in this context. */
  open(address: string): Promise<void>
}

/** A visitor with a browser profile of its own. */
export async function newVisit(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext(options)
  atEnd(() => context.close())
  const page = await context.newPage()
  return visitOf(context, page)
}

/** Another tab of the same visitor. */
export async function newTab({ context }: Visit): Promise<Visit> {
  return visitOf(context, await context.newPage())
}

function visitOf(context: BrowserContext, page: Page): Visit {
  const [complaints, requests]: [string[], string[]] = [[], []]
  page.on('console', message => {
    if (['warning', 'error'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', error => complaints.push(error.message))
  page.on('request', request => requests.push(request.url()))
  return {
    context,
    page,
    complaints,
    requests,
    async open(address) {
      await page.goto(address)
      // Without a scene it waits for one.
      await page.locator('.connection:is(.live, .waiting, .old)').waitFor()
    },
  }
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Accessibility faults of any kind, a line each. */
export async function accessFaults(page: Page | Frame): Promise<readonly string[]> {
  // Evaluated by the driver: a script element would be refused by the policy of the page.
  await page.evaluate(axe)
  const { violations } = await page.evaluate<any>('axe.run()')
  return violations.map(
    ({ id, nodes }: any) => `${id}: ${nodes[0].html} ${nodes[0].failureSummary}`,
  )
}
