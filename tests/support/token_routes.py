"""Which endpoints take a token, and with which scope: a new one fails in tests/test_access_matrix.py until it is here.

Under the scopes of which a token needs any one. `all` takes a token without scopes (or a service's), `session` takes
none. Pages are not listed, since no token counts there, and neither is what everybody may call.
"""

TABLE = {
    "read": """
        GET /api/account
        GET /api/account/passkeys
        GET /api/account/tokens
        GET /api/audit
        GET /api/events
        GET /api/exports
        GET /api/exports/:export_id
        GET /api/exports/:export_id/download
        GET /api/files
        GET /api/files/:file_id
        GET /api/files/:file_id/content
        GET /api/files/:file_id/pages/:number
        GET /api/files/:file_id/picture
        GET /api/folders
        GET /api/imports
        GET /api/imports/:import_id
        GET /api/imports/:import_id/items
        GET /api/imports/:import_id/learning
        GET /api/journeys
        GET /api/push
        GET /api/journeys/:slug
        GET /api/journeys/:slug/draft
        GET /api/journeys/:slug/export
        GET /api/models
        GET /api/prompts
        GET /api/prompts/:name
        GET /api/saved_prompts
        GET /api/saved_prompts/:saved_prompt_id
        GET /api/saved_prompts/export
        GET /api/search
        GET /api/sessions
        GET /api/shares
        GET /api/spaces
        GET /api/spaces/:space_id
        GET /api/spaces/:space_id/dependents
        GET /api/spaces/:space_id/documents
        GET /api/spaces/:space_id/documents/:document_id
        GET /api/spaces/:space_id/documents/:document_id/content
        GET /api/spaces/:space_id/documents/:document_id/pages/:number
        GET /api/spaces/:space_id/documents/:document_id/picture
        GET /api/spaces/:space_id/members
        GET /api/tasks/:job_id
        GET /api/tool-servers
        GET /api/tool-servers/:server_id
        GET /api/usage
        GET /api/webhooks
        GET /api/webhooks/:webhook_id/deliveries
    """,
    "memory read": """
        GET /api/ai/legacies/:space_id/facts
        GET /api/ai/personas
        GET /api/memories
        GET /api/memories/:memory_id
        GET /api/memories/:memory_id/evidence
        GET /api/memories/:memory_id/history
        GET /api/memories/changes
        GET /api/memories/map
        GET /api/memories/portrait
        GET /api/memories/timeline
        GET /api/proposals
        GET /api/profile
    """,
    "chat read": """
        GET /api/chat/turns/:turn_id/stream
        GET /api/conversations
        GET /api/conversations/:conversation_id
        GET /api/conversations/:conversation_id/dependents
        GET /api/conversations/:conversation_id/memory
        GET /api/conversations/:conversation_id/memory/history
        GET /api/conversations/:conversation_id/messages
        GET /api/conversations/:conversation_id/move
        GET /api/conversations/current
        GET /api/messages/:message_id/dependents
        GET /api/messages/:message_id/feedback
        GET /api/messages/:message_id/pipeline_steps
        GET /api/messages/:message_id/reasoning
        GET /api/messages/:message_id/receipt
        GET /api/messages/:message_id/response
        GET /api/messages/:message_id/versions
        GET /api/schedules
        GET /api/schedules/:schedule_id
        GET /api/schedules/feed
        GET /api/schedules/:schedule_id/runs
        GET /memory/conversation/:conversation_id/points/
        GET /memory/conversation/:conversation_id/summary/download/
        GET /memory/conversation/:conversation_id/summary/status/
        GET /v1/models
        GET /v1/models/:name
        GET /v1/responses/:name
        GET /v1/responses/:name/input_items
    """,
    "memory": """
        DELETE /api/ai/facts/:memory_id
        PATCH /api/ai/facts/:memory_id/visibility
        POST /api/ai/legacies/:space_id/facts
        POST /api/memories
        PUT /api/memories/:memory_id
        DELETE /api/memories/:memory_id
        POST /api/memories/:memory_id/restore
        POST /api/memories/:memory_id/review
        POST /api/memories/changes/:change_set_id/undo
        POST /api/memories/extract
        POST /api/memories/portrait
        POST /api/memories/extract/stop
        POST /api/proposals/:proposal_id/accept
        POST /api/proposals/:proposal_id/discard
        PUT /api/profile
    """,
    "chat": """
        POST /api/chat/stream
        POST /api/chat/turns/:turn_id/regenerate
        POST /api/chat/turns/:turn_id/retry
        POST /api/chat/turns/:turn_id/stop
        POST /api/chat/turns/:turn_id/tools/:number
        POST /api/conversations
        PUT /api/conversations/:conversation_id
        DELETE /api/conversations/:conversation_id
        POST /api/conversations/:conversation_id/messages
        POST /api/conversations/:conversation_id/points/:point/answer
        POST /api/conversations/:conversation_id/points/:point/reopen
        POST /api/conversations/:conversation_id/points/:point/reset
        POST /api/conversations/:conversation_id/points/:point/skip
        POST /api/conversations/:conversation_id/shares
        POST /api/messages/:message_id/edit
        PUT /api/conversations/:conversation_id/guide
        PUT /api/messages/:message_id/feedback
        DELETE /api/messages/:message_id/feedback
        POST /api/messages/:message_id/receipt/feedback
        POST /api/messages/:message_id/versions/:version_id/restore
        POST /api/schedules
        POST /api/schedules/:schedule_id/run
        POST /memory/conversation/:conversation_id/points/:point_slug/initiate/
        POST /v1/chat/completions
        POST /v1/embeddings
        POST /v1/responses
        DELETE /api/schedules/:schedule_id
        DELETE /v1/responses/:name
        POST /v1/responses/:name/cancel
        PATCH /api/schedules/:schedule_id
    """,
    "write": """
        PUT /api/account
        POST /api/exports
        POST /api/files
        DELETE /api/files/:file_id
        POST /api/folders
        PATCH /api/folders/:folder_id
        DELETE /api/folders/:folder_id
        POST /api/imports
        POST /api/imports/:import_id/cancel
        POST /api/imports/:import_id/learning
        POST /api/imports/:import_id/learning/pause
        POST /api/imports/:import_id/learning/stop
        POST /api/imports/:import_id/start
        POST /api/imports/:import_id/undo
        POST /api/journeys
        PUT /api/journeys/:slug
        DELETE /api/journeys/:slug
        POST /api/journeys/:slug/duplicate
        POST /api/journeys/:slug/publish
        POST /api/journeys/import
        POST /api/prompts/render
        POST /api/saved_prompts
        PATCH /api/saved_prompts/:saved_prompt_id
        DELETE /api/saved_prompts/:saved_prompt_id
        POST /api/saved_prompts/:saved_prompt_id/duplicate
        POST /api/saved_prompts/:saved_prompt_id/fill
        POST /api/saved_prompts/import
        DELETE /api/shares/:share_id
        POST /api/spaces
        PUT /api/spaces/:space_id
        DELETE /api/spaces/:space_id
        POST /api/spaces/:space_id/documents
        DELETE /api/spaces/:space_id/documents/:document_id
        POST /api/spaces/:space_id/documents/files
        DELETE /api/spaces/:space_id/invitations/:invitation_id
        POST /api/spaces/:space_id/members
        DELETE /api/spaces/:space_id/members/:user_id
        POST /api/spaces/:space_id/members/accept
        POST /api/spaces/:space_id/owner
        POST /api/tasks/generate-memories-for-user/:user_id
        POST /api/tasks/generate-memory-for-conversation/:conversation_id
        POST /api/tool-servers/:server_id/test
    """,
    "mcp mcp_read mcp_write": """
        POST /mcp
    """,
    "all": """
        GET /api/internal/conversations/:conversation_id/memory
        GET /api/internal/conversations/:conversation_id/messages_for_brain
        GET /api/internal/users/:user_id/memories
        POST /api/tasks/trigger-memory-generation
        POST /api/tasks/trigger-memory-generation/sync
        DELETE /api/sessions/:session_id
        POST /api/webhooks
        PATCH /api/webhooks/:webhook_id
        DELETE /api/webhooks/:webhook_id
        POST /api/webhooks/:webhook_id/secret
        POST /api/webhooks/:webhook_id/test
    """,
    "admin": """
        GET /api/connections
        POST /api/connections
        GET /api/connections/:connection_id
        PATCH /api/connections/:connection_id
        DELETE /api/connections/:connection_id
        POST /api/connections/:connection_id/test
        GET /api/feedback
        GET /api/feedback/counts
        GET /api/groups
        POST /api/groups
        GET /api/groups/:group_id
        PATCH /api/groups/:group_id
        DELETE /api/groups/:group_id
        POST /api/local-servers/detect
        GET /api/local-servers/:name/pull
        POST /api/local-servers/:name/pull
        DELETE /api/local-servers/:name/pull
        POST /api/models/:model_id/exam
        POST /api/prompts/:name/versions
        POST /api/prompts/:name/versions/:version/activate
        GET /api/quotas
        PUT /api/quotas
        GET /api/site
        PUT /api/site
        GET /api/users
        GET /api/users/:user_id/quotas
        PUT /api/users/:user_id/quotas
        GET /api/web-access
        PUT /api/web-access
        POST /api/web-access/test
    """,
    "session": """
        DELETE /api/account
        POST /api/account/email
        PATCH /api/account/passkeys/:passkey_id
        DELETE /api/account/passkeys/:passkey_id
        POST /api/account/password
        POST /api/account/proof
        POST /api/account/tokens
        DELETE /api/account/tokens/:token_id
        POST /api/push/subscriptions
        DELETE /api/push/subscriptions
        POST /api/schedules/feed
        DELETE /api/schedules/feed
        POST /api/tool-servers
        PATCH /api/tool-servers/:server_id
        DELETE /api/tool-servers/:server_id
        POST /api/users
        PUT /api/users/:user_id
    """,
}


def rows() -> dict[str, str]:
    """Return what the table says, by method and address."""
    return {" ".join(line.split()): scopes for scopes, lines in TABLE.items() for line in lines.strip().splitlines()}
