import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Context, Hono } from 'hono'
import { generateSpecs } from 'hono-openapi'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { type Principal, requireScope } from './authenticate.ts'
import type { Call } from './call.ts'
import { describeOperation, documentFacts } from './openapi.ts'
import { AccountsProblem } from './problems.ts'
import { type JsonLimits, readRequestBody } from './request-json.ts'
import { type Route, statusOf } from './route.ts'
import { loginRoutes } from './routes/login.ts'
import { passwordRoutes } from './routes/password.ts'
import { publicRoutes } from './routes/public.ts'
import { registerRoutes } from './routes/register.ts'
import { sessionRoutes } from './routes/sessions.ts'
import { tokenRoutes } from './routes/tokens.ts'
import type { AccountServices } from './services.ts'

interface RouterEnv {
  readonly Bindings: {
    readonly incoming: IncomingMessage
    readonly outgoing: ServerResponse
    readonly call: Call
  }
}

interface RouterParts {
  readonly services: AccountServices
  readonly limits: JsonLimits
  readonly version: string
  /** Answers with the problem, on the response itself. */
  readonly refuse: (res: ServerResponse, call: Call, error: unknown) => void | Promise<void>
}

/** Every route of the accounts server, a 405 for other methods, a 404 for other paths. */
export function createRouter(parts: RouterParts): Hono<RouterEnv> {
  const { services, refuse } = parts
  const app = new Hono<RouterEnv>()
  const info = { ...documentFacts.info, version: parts.version }
  let document: object | null = null
  const describe = async (): Promise<object> =>
    (document ??= await generateSpecs(app, {
      documentation: { ...documentFacts, info },
      excludeStaticFile: false,
    }))
  const routes = [
    ...registerRoutes(services),
    ...loginRoutes(services),
    ...sessionRoutes(services),
    ...passwordRoutes(services),
    ...tokenRoutes(services),
    ...publicRoutes(services, describe),
  ]
  for (const route of routes) {
    app.on(route.method.toUpperCase(), route.path, describeOperation(route), c =>
      serve(c, route, parts),
    )
  }
  for (const [path, methods] of methodsByPath(routes)) {
    app.all(path, () => {
      const allow = methods.join(', ')
      throw new AccountsProblem('method-not-allowed', `this path answers ${allow}`, {
        headers: { Allow: allow },
      })
    })
  }
  app.notFound(() => {
    // The path is not repeated: it may hold a token.
    throw new AccountsProblem('not-found', 'nothing is served at this path; see /openapi.json')
  })
  app.onError(async (error, { env }) => {
    await refuse(env.outgoing, env.call, error)
    return RESPONSE_ALREADY_SENT
  })
  return app
}

async function serve(
  c: Context<RouterEnv>,
  route: Route,
  { services, limits }: RouterParts,
): Promise<Response> {
  const { call, incoming } = c.env
  const principal = await admit(route, call, services)
  const body = route.body && (await readRequestBody(incoming, route.body, limits))
  const answer = await route.handle({ call, params: c.req.param(), body, principal })
  const headers = {
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...(answer === undefined ? {} : { 'Content-Type': 'application/json' }),
    ...route.headers,
  }
  const text = answer === undefined ? null : JSON.stringify(answer)
  return new Response(text, { status: statusOf(route), headers })
}

/** Before the body is read: it may be large. */
async function admit(
  { access }: Route,
  call: Call,
  { authenticator }: AccountServices,
): Promise<Principal | null> {
  if (access === 'none' || access === 'optional') return null
  const principal = await authenticator.authenticate(call)
  call.principal = principal.account.id
  if (access !== 'any') requireScope(principal, access)
  return principal
}

function methodsByPath(routes: Route[]): Map<string, string[]> {
  const byPath = Map.groupBy(routes, route => route.path)
  return new Map(
    Array.from(byPath, ([path, found]) => [
      path,
      found.flatMap(({ method }) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()])),
    ]),
  )
}
