"""JSON endpoint through which the user has the assistant open a point of a journey."""

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id
from webapp.chat import opening_messages, service
from webapp.chat.api import limit_turns
from webapp.chat.schemas import ResponseStarted
from webapp.http.json_api import api_blueprint
from webapp.journeys.schemas import PointPath

blueprint = api_blueprint("chat_points_api", __name__, tag="Journeys", url_prefix="/memory", access="user")


@blueprint.post("/conversation/<int:conversation_id>/points/<point_slug>/initiate/", strict_slashes=False, status=202)
@limit_turns
@idempotency.idempotent
def initiate_point(path: PointPath) -> ResponseStarted:
    """Have the assistant ask about a point; a second click before the answer gives the question that is there."""
    turn, is_new = opening_messages.start_point(current_user_id(), path.conversation_id, path.point_slug)
    answer = idempotency.commit(ResponseStarted(response_id=turn.reply.message_id))
    if is_new:
        service.launch(turn)
    return answer
