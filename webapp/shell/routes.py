"""Wires what is served: endpoints and pages, and with them the commands, none of which a worker process needs."""

from flask_openapi3 import OpenAPI

from webapp.accounts.api import blueprint as accounts_api
from webapp.accounts.passkeys_api import blueprint as passkeys_api
from webapp.accounts.setup import PAGES as ACCOUNT_PAGES
from webapp.admin.feedback import blueprint as admin_feedback
from webapp.admin.groups import blueprint as groups_api
from webapp.admin.groups import pages as admin_groups
from webapp.admin.jobs_pages import blueprint as admin_jobs
from webapp.admin.journeys import blueprint as admin_journeys
from webapp.admin.pages import blueprint as admin_pages
from webapp.admin.prompts import blueprint as admin_prompts
from webapp.arrivals.pages import blueprint as arrivals_pages
from webapp.audit.api import blueprint as audit_api
from webapp.audit.pages import blueprint as audit_pages
from webapp.chat.api import blueprint as chat_api
from webapp.chat.api import points_blueprint as chat_points_api
from webapp.chat.frames import blueprint as frames
from webapp.chat.inspector_pages import blueprint as inspector_pages
from webapp.chat.pages import blueprint as chat_pages
from webapp.chat.parameter_pages import blueprint as parameter_pages
from webapp.chat.start_pages import blueprint as start_pages
from webapp.chat.turn_pages import blueprint as turn_pages
from webapp.conversations.api import blueprint as conversations_api
from webapp.conversations.api import feedback_blueprint as feedback_api
from webapp.conversations.bulk_pages import blueprint as organising_pages
from webapp.conversations.feedback_pages import blueprint as feedback_pages
from webapp.conversations.pages import blueprint as conversations_pages
from webapp.digests.api import blueprint as digests_api
from webapp.digests.api import init_digests
from webapp.digests.pages import blueprint as digests_pages
from webapp.files.api import blueprint as files_api
from webapp.files.document_pages import blueprint as document_files
from webapp.files.pages import blueprint as files_pages
from webapp.gateway.api import init_gateway
from webapp.internal.api import blueprint as internal_api
from webapp.journeys.api import blueprint as journeys_api
from webapp.journeys.api import points_blueprint as journey_points_api
from webapp.journeys.authoring_api import blueprint as journey_authoring_api
from webapp.journeys.authoring_pages import blueprint as journey_authoring_pages
from webapp.journeys.pages import blueprint as journeys_pages
from webapp.legacies.api import blueprint as legacies_api
from webapp.legacies.pages import blueprint as legacies_pages
from webapp.mcp_server.setup import init_mcp
from webapp.memories.web.activity_pages import blueprint as memory_activity_pages
from webapp.memories.web.api import blueprint as memories_api
from webapp.memories.web.decision_pages import blueprint as memory_decision_pages
from webapp.memories.web.extraction_pages import blueprint as memory_extraction_pages
from webapp.memories.web.pages import blueprint as memories_pages
from webapp.memories.web.picture_pages import blueprint as picture_pages
from webapp.memories.web.pictures_api import blueprint as pictures_api
from webapp.oauth.setup import init_oauth
from webapp.openapi.docs import init_docs
from webapp.prompts.api import blueprint as prompts_api
from webapp.providers.api import blueprint as models_api
from webapp.providers.connect_pages import blueprint as connect_pages
from webapp.providers.pages import blueprint as models_pages
from webapp.push.api import blueprint as push_api
from webapp.retrieval.api import blueprint as retrieval_api
from webapp.retrieval.pages import blueprint as retrieval_pages
from webapp.saved_prompts.api import blueprint as library_api
from webapp.saved_prompts.pages import blueprint as library_pages
from webapp.schedules.api import blueprint as schedules_api
from webapp.schedules.pages import blueprint as schedules_pages
from webapp.sharing.api import blueprint as sharing_api
from webapp.sharing.pages import blueprint as sharing_pages
from webapp.shell import commands, service_endpoints
from webapp.shell.manifest import blueprint as installing
from webapp.spaces.api import blueprint as spaces_api
from webapp.spaces.document_pages import blueprint as documents_pages
from webapp.spaces.pages import blueprint as spaces_pages
from webapp.tasks.api import blueprint as tasks_api
from webapp.tools.setup import init_tools
from webapp.transfer.account_deletion_pages import blueprint as leaving_pages
from webapp.transfer.api import blueprint as transfer_api
from webapp.transfer.pages import blueprint as transfer_pages
from webapp.transfer.portrait_files import blueprint as portrait_files
from webapp.transfer.proposal_pages import blueprint as proposal_pages
from webapp.usage.api import blueprint as usage_api
from webapp.usage.pages import blueprint as usage_pages
from webapp.webhooks import events_api
from webapp.webhooks.api import blueprint as webhooks_api
from webapp.webhooks.pages import blueprint as webhooks_pages

APIS = (
    accounts_api,
    passkeys_api,
    audit_api,
    chat_api,
    chat_points_api,
    conversations_api,
    digests_api,
    feedback_api,
    files_api,
    internal_api,
    journey_authoring_api,
    journey_points_api,
    journeys_api,
    legacies_api,
    library_api,
    memories_api,
    pictures_api,
    models_api,
    groups_api,
    prompts_api,
    retrieval_api,
    sharing_api,
    spaces_api,
    tasks_api,
    transfer_api,
    usage_api,
    push_api,
    schedules_api,
    webhooks_api,
)
PAGES = (
    *ACCOUNT_PAGES,
    admin_feedback,
    admin_jobs,
    admin_journeys,
    admin_pages,
    admin_prompts,
    admin_groups,
    audit_pages,
    turn_pages,
    chat_pages,
    parameter_pages,
    conversations_pages,
    digests_pages,
    document_files,
    documents_pages,
    feedback_pages,
    files_pages,
    frames,
    inspector_pages,
    installing,
    journey_authoring_pages,
    journeys_pages,
    leaving_pages,
    proposal_pages,
    legacies_pages,
    library_pages,
    memories_pages,
    memory_activity_pages,
    portrait_files,
    picture_pages,
    memory_decision_pages,
    memory_extraction_pages,
    models_pages,
    connect_pages,
    organising_pages,
    retrieval_pages,
    service_endpoints.blueprint,
    sharing_pages,
    spaces_pages,
    start_pages,
    transfer_pages,
    usage_pages,
    schedules_pages,
    arrivals_pages,
    webhooks_pages,
)


def register(app: OpenAPI) -> None:
    """Register everything that people and programs can reach, and the commands."""
    app.extensions["end_event_streams"] = events_api.end_all
    for api in APIS:
        app.register_api(api)
    init_digests(app)
    for pages in PAGES:
        app.register_blueprint(pages)
    init_gateway(app)
    init_mcp(app)
    init_tools(app)
    init_oauth(app)
    init_docs(app)
    commands.register(app)
