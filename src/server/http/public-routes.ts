import { Hono } from 'hono'
import { makeProblem } from './problem.ts'

/** Paths anyone may ask for: health, the well-known documents, and a clean 404 for the rest. */
export function createPublicRoutes(isReady: () => boolean): Hono {
  const app = new Hono()
  app.get('/healthz', c => c.json({ status: 'ok' }))
  app.get('/readyz', c =>
    isReady() ? c.json({ status: 'ready' }) : c.json({ status: 'starting' }, 503),
  )
  for (const path of ['/healthz', '/readyz']) {
    app.all(path, () =>
      publicProblem(405, 'method-not-allowed', `${path} answers GET`, { Allow: 'GET' }),
    )
  }
  app.notFound(c =>
    publicProblem(404, 'route-not-found', `nothing is served at ${shortened(c.req.path)}`),
  )
  app.onError(() => publicProblem(500, 'internal', 'the request failed'))
  return app
}

/** RFC 9457. Clients probe the well-known paths and read the body as JSON. */
export function publicProblem(
  status: number,
  code: string,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify(makeProblem(status, code, detail)), {
    status,
    headers: { ...headers, 'Content-Type': 'application/problem+json' },
  })
}

function shortened(path: string): string {
  return path.length > 200 ? `${path.slice(0, 200)}…` : path
}
