import type { Gauge } from '../http/metrics.ts'

/** What goes on at an endpoint at this moment. */
export interface EndpointActivity {
  /** Requests that are not answered yet. */
  readonly pendingCalls: number
  /** Tools that the endpoint offers. */
  readonly tools: number
  readonly sessions: number
  /** Streams open for notifications, of any revision. */
  readonly streams: number
  readonly subscriptions: number
  /** Sessions and listen streams with at least one subscription. */
  readonly subscribers: number
}

/** The activity for `/metrics`. */
export function activityGauges(activity: EndpointActivity): readonly Gauge[] {
  const gauge = (name: string, help: string, value: number) => ({
    name: `service_cli_${name}`,
    help,
    values: [{ value }],
  })
  return [
    gauge('sessions', 'Open MCP sessions.', activity.sessions),
    gauge('streams', 'Open event streams.', activity.streams),
    gauge('subscriptions', 'Subscriptions of all clients.', activity.subscriptions),
    gauge('pending_calls', 'Calls that are not answered yet.', activity.pendingCalls),
  ]
}
