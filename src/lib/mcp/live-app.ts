/** In `_meta` of the calls of the live view in a chat: no model made them. */
export const liveAppKey = 'service-cli/live'
