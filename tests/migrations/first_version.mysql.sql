CREATE TABLE account_deletions (
  deletion_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  secret_hash VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  due_at TIMESTAMP(6) NOT NULL,
  begun_at TIMESTAMP(6) NULL,
  done_at TIMESTAMP(6) NULL,
  report JSON,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_account_deletions PRIMARY KEY (deletion_id),
  CONSTRAINT uq_account_deletions_secret_hash UNIQUE (secret_hash)
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_account_deletions_user_id ON account_deletions (user_id);
CREATE INDEX ix_account_deletions_due_at ON account_deletions (due_at);
CREATE TABLE journeys (
  journey_id INTEGER NOT NULL AUTO_INCREMENT,
  slug VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  title VARCHAR(255) NOT NULL,
  description TEXT NOT NULL,
  system_prompt TEXT NOT NULL,
  `position` INTEGER NOT NULL DEFAULT 0,
  source_hash VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  is_archived BOOL NOT NULL DEFAULT 0,
  owner_id INTEGER,
  source VARCHAR(10) NOT NULL DEFAULT 'file',
  front_page VARCHAR(255),
  published_version INTEGER,
  draft JSON,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_journeys PRIMARY KEY (journey_id),
  CONSTRAINT uq_journeys_slug UNIQUE (slug)
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE memory_grades (
  model_key VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  recall FLOAT NOT NULL,
  key_share FLOAT NOT NULL,
  false_share FLOAT NOT NULL,
  cases INTEGER NOT NULL,
  examined_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_memory_grades PRIMARY KEY (model_key)
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE model_connections (
  connection_id INTEGER NOT NULL AUTO_INCREMENT,
  name VARCHAR(100) NOT NULL,
  base_url VARCHAR(500) NOT NULL,
  secrets TEXT,
  key_set BOOL NOT NULL DEFAULT 0,
  header_names JSON NOT NULL,
  is_enabled BOOL NOT NULL DEFAULT 1,
  builtin_tools BOOL NOT NULL DEFAULT 1,
  embedding_model VARCHAR(200),
  background_model VARCHAR(200),
  test_result JSON,
  tested_at TIMESTAMP(6) NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_model_connections PRIMARY KEY (connection_id)
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE oauth_clients (
  client_number INTEGER NOT NULL AUTO_INCREMENT,
  client_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  name VARCHAR(100) NOT NULL,
  redirect_uris JSON NOT NULL,
  auth_method VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  secret_hash VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  fetched_at TIMESTAMP(6) NULL,
  CONSTRAINT pk_oauth_clients PRIMARY KEY (client_number),
  CONSTRAINT uq_oauth_clients_client_id UNIQUE (client_id)
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_oauth_clients_created_at ON oauth_clients (created_at);
CREATE TABLE site_settings (
  `key` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  value JSON NOT NULL,
  updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_site_settings PRIMARY KEY (`key`)
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE spaces (
  space_id INTEGER NOT NULL AUTO_INCREMENT,
  kind ENUM('project','legacy') NOT NULL,
  name VARCHAR(200) NOT NULL,
  description TEXT NOT NULL,
  instructions TEXT NOT NULL,
  persona VARCHAR(50),
  has_portrait BOOL NOT NULL DEFAULT 0,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_spaces PRIMARY KEY (space_id)
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE user_groups (
  group_id INTEGER NOT NULL AUTO_INCREMENT,
  name VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_user_groups PRIMARY KEY (group_id),
  CONSTRAINT uq_user_groups_name UNIQUE (name)
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE users (
  user_id INTEGER NOT NULL AUTO_INCREMENT,
  email VARCHAR(254) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  name VARCHAR(200) NOT NULL DEFAULT '',
  password_hash VARCHAR(255) NOT NULL,
  is_admin BOOL NOT NULL DEFAULT 0,
  is_active BOOL NOT NULL DEFAULT 1,
  auth_version INTEGER NOT NULL DEFAULT 1,
  must_change_password BOOL NOT NULL DEFAULT 0,
  has_webhooks BOOL NOT NULL DEFAULT 0,
  settings JSON NOT NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  last_seen_at TIMESTAMP(6) NULL,
  email_verified_at TIMESTAMP(6) NULL,
  CONSTRAINT pk_users PRIMARY KEY (user_id),
  CONSTRAINT uq_users_email UNIQUE (email)
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE web_access (
  access_id INTEGER NOT NULL AUTO_INCREMENT,
  provider VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  address VARCHAR(500) NOT NULL,
  secrets TEXT,
  key_set BOOL NOT NULL DEFAULT 0,
  is_enabled BOOL NOT NULL DEFAULT 0,
  updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_web_access PRIMARY KEY (access_id)
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE account_mails (
  mail_id INTEGER NOT NULL AUTO_INCREMENT,
  kind VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  email VARCHAR(254) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  language VARCHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  user_id INTEGER,
  auth_version INTEGER NOT NULL DEFAULT 0,
  invited_by INTEGER,
  is_refused BOOL NOT NULL DEFAULT 0,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  sent_at TIMESTAMP(6) NULL,
  used_at TIMESTAMP(6) NULL,
  CONSTRAINT pk_account_mails PRIMARY KEY (mail_id),
  CONSTRAINT fk_account_mails_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  CONSTRAINT fk_account_mails_invited_by FOREIGN KEY(invited_by) REFERENCES users (user_id) ON DELETE SET NULL
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_account_mails_invited_by ON account_mails (invited_by);
CREATE INDEX ix_account_mails_created_at ON account_mails (created_at);
CREATE INDEX ix_account_mails_user_id ON account_mails (user_id);
CREATE INDEX ix_account_mails_email_kind ON account_mails (email, kind);
CREATE TABLE admin_access_log (
  access_id INTEGER NOT NULL AUTO_INCREMENT,
  admin_id INTEGER,
  user_id INTEGER NOT NULL,
  what VARCHAR(50) NOT NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_admin_access_log PRIMARY KEY (access_id),
  CONSTRAINT fk_admin_access_log_admin_id FOREIGN KEY(admin_id) REFERENCES users (user_id) ON DELETE SET NULL,
  CONSTRAINT fk_admin_access_log_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_admin_access_log_admin_id ON admin_access_log (admin_id);
CREATE INDEX ix_admin_access_log_user_id ON admin_access_log (user_id);
CREATE TABLE api_tokens (
  token_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  name VARCHAR(100) NOT NULL,
  token_hash VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  prefix VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  is_service BOOL NOT NULL DEFAULT 0,
  scopes JSON,
  space_ids JSON,
  is_delegated BOOL NOT NULL DEFAULT 0,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  expires_at TIMESTAMP(6) NULL,
  last_used_at TIMESTAMP(6) NULL,
  last_used_address VARCHAR(64),
  revoked_at TIMESTAMP(6) NULL,
  CONSTRAINT pk_api_tokens PRIMARY KEY (token_id),
  CONSTRAINT uq_api_tokens_token_hash UNIQUE (token_hash),
  CONSTRAINT fk_api_tokens_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_api_tokens_user_id ON api_tokens (user_id);
CREATE TABLE audit_events (
  event_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  action VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  actor_kind VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  actor_id INTEGER,
  actor_name VARCHAR(200) NOT NULL DEFAULT '',
  token_id INTEGER,
  what VARCHAR(300) NOT NULL DEFAULT '',
  detail JSON,
  address VARCHAR(64) NOT NULL DEFAULT '',
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_audit_events PRIMARY KEY (event_id),
  CONSTRAINT fk_audit_events_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  CONSTRAINT fk_audit_events_actor_id FOREIGN KEY(actor_id) REFERENCES users (user_id) ON DELETE SET NULL
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_audit_events_created_at ON audit_events (created_at);
CREATE INDEX ix_audit_events_listing ON audit_events (user_id, event_id);
CREATE INDEX ix_audit_events_actor_id ON audit_events (actor_id);
CREATE TABLE conversation_points (
  point_id INTEGER NOT NULL AUTO_INCREMENT,
  journey_id INTEGER NOT NULL,
  slug VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  title VARCHAR(255) NOT NULL,
  description TEXT NOT NULL,
  curiosity_prompt TEXT NOT NULL,
  system_message_template TEXT NOT NULL,
  elicitation_goals JSON NOT NULL,
  example_questions JSON NOT NULL,
  completion_criteria JSON NOT NULL,
  suggested_questions JSON NOT NULL,
  semantic_keywords JSON NOT NULL,
  confidence_threshold DOUBLE NOT NULL DEFAULT (0.7),
  keeps VARCHAR(10),
  `position` INTEGER NOT NULL DEFAULT 0,
  is_archived BOOL NOT NULL DEFAULT 0,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_conversation_points PRIMARY KEY (point_id),
  CONSTRAINT uq_conversation_points_journey_id_slug UNIQUE (journey_id, slug),
  CONSTRAINT fk_conversation_points_journey_id FOREIGN KEY(journey_id) REFERENCES journeys (journey_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE conversations (
  conversation_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  title VARCHAR(255),
  created_at TIMESTAMP(6) NULL DEFAULT CURRENT_TIMESTAMP(6),
  updated_at TIMESTAMP(6) NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
  is_archived BOOL DEFAULT 0,
  metadata JSON,
  title_source ENUM('none','auto','user') NOT NULL DEFAULT 'none',
  journey_id INTEGER,
  space_id INTEGER,
  persona VARCHAR(100),
  is_temporary BOOL NOT NULL DEFAULT 0,
  message_count INTEGER NOT NULL DEFAULT 0,
  deleted_at TIMESTAMP(6) NULL,
  seen_at TIMESTAMP(6) NULL,
  is_pinned BOOL NOT NULL DEFAULT 0,
  folder_id INTEGER,
  tags TEXT,
  model VARCHAR(220),
  parameters JSON,
  uses_web BOOL NOT NULL DEFAULT 0,
  has_files BOOL NOT NULL DEFAULT 0,
  shared_live_until TIMESTAMP(6) NULL,
  uses_memory BOOL NOT NULL DEFAULT 1,
  makes_memory BOOL NOT NULL DEFAULT 1,
  extracted_through INTEGER,
  extraction_due BOOL NOT NULL DEFAULT 0,
  indexed_through INTEGER,
  index_due BOOL NOT NULL DEFAULT 0,
  summary_due BOOL NOT NULL DEFAULT 0,
  CONSTRAINT pk_conversations PRIMARY KEY (conversation_id),
  CONSTRAINT fk_conversations_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  CONSTRAINT fk_conversations_journey_id FOREIGN KEY(journey_id) REFERENCES journeys (journey_id) ON DELETE SET NULL,
  CONSTRAINT fk_conversations_space_id FOREIGN KEY(space_id) REFERENCES spaces (space_id) ON DELETE SET NULL
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_conversations_journey_id ON conversations (journey_id);
CREATE INDEX ix_conversations_listing ON conversations (user_id, is_archived, updated_at, conversation_id);
CREATE INDEX ix_conversations_index_due ON conversations (index_due, updated_at);
CREATE INDEX ix_conversations_owed_title ON conversations (title_source, updated_at);
CREATE INDEX ix_conversations_temporary ON conversations (is_temporary, updated_at);
CREATE INDEX ix_conversations_folder ON conversations (folder_id, is_archived, updated_at, conversation_id);
CREATE INDEX ix_conversations_summary_due ON conversations (summary_due, updated_at);
CREATE INDEX ix_conversations_space ON conversations (space_id, user_id, is_archived, updated_at);
CREATE INDEX ix_conversations_sidebar ON conversations (user_id, is_archived, is_pinned, updated_at, conversation_id);
CREATE INDEX ix_conversations_extraction_due ON conversations (extraction_due, updated_at);
CREATE INDEX ix_conversations_space_pinned ON conversations (space_id, user_id, is_archived, is_pinned, updated_at);
CREATE INDEX ix_conversations_deleted ON conversations (deleted_at);
CREATE TABLE exports (
  export_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  what VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  format VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  conversation_id INTEGER,
  status ENUM('waiting','ready','failed','expired') NOT NULL,
  stored_as VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  filename VARCHAR(255),
  media_type VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  size INTEGER,
  error TEXT,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  expires_at TIMESTAMP(6) NULL,
  CONSTRAINT pk_exports PRIMARY KEY (export_id),
  CONSTRAINT fk_exports_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_exports_listing ON exports (user_id, export_id);
CREATE INDEX ix_exports_status ON exports (status, created_at);
CREATE TABLE files (
  file_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  digest VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  name VARCHAR(255) NOT NULL,
  media_type VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  size INTEGER NOT NULL,
  status ENUM('ready','unreadable') NOT NULL,
  reason VARCHAR(255),
  pages INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  characters INTEGER NOT NULL DEFAULT 0,
  picture_pages INTEGER NOT NULL DEFAULT 0,
  scan_due BOOL NOT NULL DEFAULT 0,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_files PRIMARY KEY (file_id),
  CONSTRAINT fk_files_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_files_digest ON files (digest);
CREATE INDEX ix_files_time ON files (created_at, size);
CREATE INDEX ix_files_listing ON files (user_id, file_id);
CREATE INDEX ix_files_scan_due ON files (scan_due);
CREATE TABLE folders (
  folder_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  name VARCHAR(100) NOT NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_folders PRIMARY KEY (folder_id),
  CONSTRAINT fk_folders_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_folders_listing ON folders (user_id, name, folder_id);
CREATE TABLE idempotency_keys (
  user_id INTEGER NOT NULL,
  `key` VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  request_hash VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  status INTEGER NOT NULL,
  `body` JSON NOT NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_idempotency_keys PRIMARY KEY (user_id, `key`),
  CONSTRAINT fk_idempotency_keys_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_idempotency_keys_created_at ON idempotency_keys (created_at);
CREATE TABLE import_sources (
  user_id INTEGER NOT NULL,
  origin VARCHAR(120) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  target_id INTEGER NOT NULL,
  CONSTRAINT pk_import_sources PRIMARY KEY (user_id, origin),
  CONSTRAINT fk_import_sources_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE imports (
  import_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  status ENUM('reading','ready','running','done','failed','cancelled','undone') NOT NULL,
  format VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  filename VARCHAR(255) NOT NULL,
  stored_as VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  size INTEGER NOT NULL,
  preview JSON,
  options JSON,
  counts JSON NOT NULL,
  `position` INTEGER NOT NULL,
  error VARCHAR(500),
  change_set_ids JSON NOT NULL,
  learn_status VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  learning JSON,
  undo_status VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_imports PRIMARY KEY (import_id),
  CONSTRAINT fk_imports_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_imports_learn_status ON imports (learn_status);
CREATE INDEX ix_imports_undo_status ON imports (undo_status);
CREATE INDEX ix_imports_listing ON imports (user_id, import_id);
CREATE INDEX ix_imports_status ON imports (status, updated_at);
CREATE TABLE journey_versions (
  version_id INTEGER NOT NULL AUTO_INCREMENT,
  journey_id INTEGER NOT NULL,
  number INTEGER NOT NULL,
  definition JSON NOT NULL,
  author_id INTEGER,
  created_at TIMESTAMP(6) NOT NULL,
  CONSTRAINT pk_journey_versions PRIMARY KEY (version_id),
  CONSTRAINT uq_journey_versions_number UNIQUE (journey_id, number),
  CONSTRAINT fk_journey_versions_journey_id FOREIGN KEY(journey_id) REFERENCES journeys (journey_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE memory_tombstones (
  user_id INTEGER NOT NULL,
  digest VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  kind VARCHAR(10) NOT NULL,
  key_id VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_memory_tombstones PRIMARY KEY (user_id, digest),
  CONSTRAINT fk_memory_tombstones_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE memory_versions (
  user_id INTEGER NOT NULL,
  version INTEGER NOT NULL DEFAULT 1,
  CONSTRAINT pk_memory_versions PRIMARY KEY (user_id),
  CONSTRAINT fk_memory_versions_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE model_offers (
  offer_id INTEGER NOT NULL AUTO_INCREMENT,
  connection_id INTEGER NOT NULL,
  model VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  label VARCHAR(100) NOT NULL,
  icon VARCHAR(16),
  audience ENUM('everyone','admins') NOT NULL,
  context_window INTEGER,
  parameters JSON NOT NULL,
  input_price FLOAT,
  output_price FLOAT,
  is_default BOOL NOT NULL DEFAULT 0,
  fallback_rank INTEGER,
  CONSTRAINT pk_model_offers PRIMARY KEY (offer_id),
  CONSTRAINT uq_model_offers_model UNIQUE (connection_id, model),
  CONSTRAINT fk_model_offers_connection_id FOREIGN KEY(connection_id) REFERENCES model_connections (connection_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE passage_changes (
  change_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  what ENUM('conversation','memories','documents','verdicts') NOT NULL,
  ref_id INTEGER NOT NULL DEFAULT 0,
  from_id INTEGER NOT NULL DEFAULT 0,
  CONSTRAINT pk_passage_changes PRIMARY KEY (change_id),
  CONSTRAINT fk_passage_changes_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_passage_changes_version ON passage_changes (user_id, version);
CREATE TABLE passage_versions (
  user_id INTEGER NOT NULL,
  version INTEGER NOT NULL DEFAULT 0,
  memories_through INTEGER,
  CONSTRAINT pk_passage_versions PRIMARY KEY (user_id),
  CONSTRAINT fk_passage_versions_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE portraits (
  portrait_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER,
  space_id INTEGER,
  sentences JSON NOT NULL,
  `before` JSON NOT NULL,
  made_from VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  made_at TIMESTAMP(6) NULL,
  asked_at TIMESTAMP(6) NULL,
  model VARCHAR(200),
  problem VARCHAR(300),
  CONSTRAINT pk_portraits PRIMARY KEY (portrait_id),
  CONSTRAINT uq_portraits_space_id UNIQUE (space_id),
  CONSTRAINT uq_portraits_user_id UNIQUE (user_id),
  CONSTRAINT fk_portraits_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  CONSTRAINT fk_portraits_space_id FOREIGN KEY(space_id) REFERENCES spaces (space_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE prompt_versions (
  version_id INTEGER NOT NULL AUTO_INCREMENT,
  name VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  version INTEGER NOT NULL,
  prompt_text TEXT NOT NULL,
  origin ENUM('default','admin') NOT NULL,
  note VARCHAR(500),
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  created_by INTEGER,
  CONSTRAINT pk_prompt_versions PRIMARY KEY (version_id),
  CONSTRAINT uq_prompt_versions_name_version UNIQUE (name, version),
  CONSTRAINT fk_prompt_versions_created_by FOREIGN KEY(created_by) REFERENCES users (user_id) ON DELETE SET NULL
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_prompt_versions_created_by ON prompt_versions (created_by);
CREATE TABLE quotas (
  quota_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER,
  group_id INTEGER,
  `period` ENUM('day','month') NOT NULL,
  tokens INTEGER,
  dollars FLOAT,
  CONSTRAINT pk_quotas PRIMARY KEY (quota_id),
  CONSTRAINT fk_quotas_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  CONSTRAINT fk_quotas_group_id FOREIGN KEY(group_id) REFERENCES user_groups (group_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_quotas_group_id ON quotas (group_id);
CREATE INDEX ix_quotas_user_id ON quotas (user_id);
CREATE TABLE saved_prompts (
  saved_prompt_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  space_id INTEGER,
  name VARCHAR(100) NOT NULL,
  description VARCHAR(255) NOT NULL,
  content TEXT NOT NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_saved_prompts PRIMARY KEY (saved_prompt_id),
  CONSTRAINT fk_saved_prompts_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  CONSTRAINT fk_saved_prompts_space_id FOREIGN KEY(space_id) REFERENCES spaces (space_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_saved_prompts_space_id ON saved_prompts (space_id);
CREATE INDEX ix_saved_prompts_listing ON saved_prompts (user_id, name, saved_prompt_id);
CREATE TABLE schedule_feeds (
  user_id INTEGER NOT NULL,
  digest VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_schedule_feeds PRIMARY KEY (user_id),
  CONSTRAINT uq_schedule_feeds_digest UNIQUE (digest),
  CONSTRAINT fk_schedule_feeds_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE space_documents (
  document_id INTEGER NOT NULL AUTO_INCREMENT,
  space_id INTEGER NOT NULL,
  user_id INTEGER,
  title VARCHAR(255) NOT NULL,
  content MEDIUMTEXT NOT NULL,
  size INTEGER NOT NULL,
  pages INTEGER NOT NULL DEFAULT 0,
  digest VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  media_type VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  file_name VARCHAR(255),
  status ENUM('queued','indexing','ready','failed') NOT NULL DEFAULT 'queued',
  chunks_total INTEGER NOT NULL DEFAULT 0,
  chunks_done INTEGER NOT NULL DEFAULT 0,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_space_documents PRIMARY KEY (document_id),
  CONSTRAINT fk_space_documents_space_id FOREIGN KEY(space_id) REFERENCES spaces (space_id) ON DELETE CASCADE,
  CONSTRAINT fk_space_documents_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE SET NULL
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_space_documents_user_id ON space_documents (user_id);
CREATE INDEX ix_space_documents_status ON space_documents (status, updated_at);
CREATE INDEX ix_space_documents_digest ON space_documents (digest);
CREATE INDEX ix_space_documents_space_id ON space_documents (space_id, document_id);
CREATE TABLE space_members (
  space_member_id INTEGER NOT NULL AUTO_INCREMENT,
  space_id INTEGER NOT NULL,
  user_id INTEGER,
  email VARCHAR(254) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  role ENUM('owner','member') NOT NULL,
  status ENUM('invited','active') NOT NULL,
  invited_by INTEGER,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  joined_at TIMESTAMP(6) NULL,
  by_group BOOL NOT NULL DEFAULT 0,
  CONSTRAINT pk_space_members PRIMARY KEY (space_member_id),
  CONSTRAINT uq_space_members_space_id_email UNIQUE (space_id, email),
  CONSTRAINT uq_space_members_space_id_user_id UNIQUE (space_id, user_id),
  CONSTRAINT fk_space_members_space_id FOREIGN KEY(space_id) REFERENCES spaces (space_id) ON DELETE CASCADE,
  CONSTRAINT fk_space_members_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  CONSTRAINT fk_space_members_invited_by FOREIGN KEY(invited_by) REFERENCES users (user_id) ON DELETE SET NULL
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_space_members_user_id ON space_members (user_id, status, space_id);
CREATE INDEX ix_space_members_invited_by ON space_members (invited_by);
CREATE TABLE space_versions (
  space_id INTEGER NOT NULL,
  version INTEGER NOT NULL DEFAULT 1,
  CONSTRAINT pk_space_versions PRIMARY KEY (space_id),
  CONSTRAINT fk_space_versions_space_id FOREIGN KEY(space_id) REFERENCES spaces (space_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE tombstone_keys (
  user_id INTEGER NOT NULL,
  key_id VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  sealed VARCHAR(500) NOT NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_tombstone_keys PRIMARY KEY (user_id, key_id),
  CONSTRAINT fk_tombstone_keys_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE tool_servers (
  server_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER,
  name VARCHAR(60) NOT NULL,
  url VARCHAR(500) NOT NULL,
  secrets TEXT,
  key_set BOOL NOT NULL DEFAULT 0,
  is_enabled BOOL NOT NULL DEFAULT 1,
  age VARCHAR(20),
  tools JSON NOT NULL,
  error VARCHAR(500),
  tested_at TIMESTAMP(6) NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_tool_servers PRIMARY KEY (server_id),
  CONSTRAINT fk_tool_servers_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_tool_servers_user_id ON tool_servers (user_id);
CREATE TABLE user_group_members (
  group_id INTEGER NOT NULL,
  user_id INTEGER NOT NULL,
  by_provider BOOL NOT NULL DEFAULT 0,
  CONSTRAINT pk_user_group_members PRIMARY KEY (group_id, user_id),
  CONSTRAINT fk_user_group_members_group_id FOREIGN KEY(group_id) REFERENCES user_groups (group_id) ON DELETE CASCADE,
  CONSTRAINT fk_user_group_members_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_user_group_members_user_id ON user_group_members (user_id);
CREATE TABLE user_identities (
  identity_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  issuer VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  subject VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_user_identities PRIMARY KEY (identity_id),
  CONSTRAINT uq_user_identities_issuer_subject UNIQUE (issuer, subject),
  CONSTRAINT fk_user_identities_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_user_identities_user_id ON user_identities (user_id);
CREATE TABLE user_passkeys (
  passkey_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  name VARCHAR(100) NOT NULL,
  credential_hash VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  credential_id BLOB NOT NULL,
  public_key BLOB NOT NULL,
  sign_count BIGINT NOT NULL DEFAULT 0,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  last_used_at TIMESTAMP(6) NULL,
  CONSTRAINT pk_user_passkeys PRIMARY KEY (passkey_id),
  CONSTRAINT uq_user_passkeys_credential_hash UNIQUE (credential_hash),
  CONSTRAINT fk_user_passkeys_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_user_passkeys_user_id ON user_passkeys (user_id);
CREATE TABLE user_second_factors (
  user_id INTEGER NOT NULL,
  secret VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  last_step INTEGER NOT NULL DEFAULT 0,
  recovery_hashes JSON NOT NULL,
  confirmed_at TIMESTAMP(6) NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_user_second_factors PRIMARY KEY (user_id),
  CONSTRAINT fk_user_second_factors_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE user_sessions (
  session_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  secret_hash VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  auth_version INTEGER NOT NULL,
  user_agent VARCHAR(300) NOT NULL DEFAULT '',
  address VARCHAR(64) NOT NULL DEFAULT '',
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  last_seen_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  proved_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  expires_at TIMESTAMP(6) NULL,
  CONSTRAINT pk_user_sessions PRIMARY KEY (session_id),
  CONSTRAINT uq_user_sessions_secret_hash UNIQUE (secret_hash),
  CONSTRAINT fk_user_sessions_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_user_sessions_expires_at ON user_sessions (expires_at);
CREATE INDEX ix_user_sessions_user_id ON user_sessions (user_id);
CREATE TABLE conversation_chunks (
  chunk_id INTEGER NOT NULL AUTO_INCREMENT,
  conversation_id INTEGER NOT NULL,
  user_id INTEGER,
  space_id INTEGER,
  content TEXT NOT NULL,
  embedding BLOB(65535),
  embedding_model VARCHAR(200),
  message_range_start INTEGER NOT NULL,
  message_range_end INTEGER NOT NULL,
  level INTEGER NOT NULL DEFAULT 0,
  model VARCHAR(200),
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_conversation_chunks PRIMARY KEY (chunk_id),
  CONSTRAINT uq_conversation_chunks_range UNIQUE (conversation_id, message_range_start, message_range_end),
  CONSTRAINT fk_conversation_chunks_conversation_id FOREIGN KEY(conversation_id) REFERENCES conversations (conversation_id) ON DELETE CASCADE,
  CONSTRAINT fk_conversation_chunks_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_conversation_chunks_user_id ON conversation_chunks (user_id, space_id);
CREATE TABLE conversation_memories (
  id INTEGER NOT NULL AUTO_INCREMENT,
  conversation_id INTEGER NOT NULL,
  memory_data JSON NOT NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  version INTEGER NOT NULL DEFAULT 1,
  as_of TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_conversation_memories PRIMARY KEY (id),
  CONSTRAINT uq_conversation_memories_conversation_id UNIQUE (conversation_id),
  CONSTRAINT fk_conversation_memories_conversation_id FOREIGN KEY(conversation_id) REFERENCES conversations (conversation_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE conversation_reports (
  report_id INTEGER NOT NULL AUTO_INCREMENT,
  conversation_id INTEGER NOT NULL,
  source_hash VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  evidence_count INTEGER NOT NULL DEFAULT 0,
  pdf MEDIUMBLOB NOT NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_conversation_reports PRIMARY KEY (report_id),
  CONSTRAINT uq_conversation_reports_conversation_id UNIQUE (conversation_id),
  CONSTRAINT fk_conversation_reports_conversation_id FOREIGN KEY(conversation_id) REFERENCES conversations (conversation_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE conversation_shares (
  share_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  conversation_id INTEGER NOT NULL,
  token VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  is_live BOOL NOT NULL DEFAULT 0,
  audience ENUM('anyone','accounts') NOT NULL,
  first_message_id INTEGER,
  last_message_id INTEGER,
  message_ids JSON,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  expires_at TIMESTAMP(6) NULL,
  CONSTRAINT pk_conversation_shares PRIMARY KEY (share_id),
  CONSTRAINT uq_conversation_shares_token UNIQUE (token),
  CONSTRAINT fk_conversation_shares_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  CONSTRAINT fk_conversation_shares_conversation_id FOREIGN KEY(conversation_id) REFERENCES conversations (conversation_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_conversation_shares_listing ON conversation_shares (user_id, share_id);
CREATE INDEX ix_conversation_shares_conversation_id ON conversation_shares (conversation_id);
CREATE TABLE document_chunks (
  document_chunk_id INTEGER NOT NULL AUTO_INCREMENT,
  document_id INTEGER NOT NULL,
  space_id INTEGER NOT NULL,
  `position` INTEGER NOT NULL,
  page INTEGER,
  content TEXT NOT NULL,
  embedding BLOB(65535),
  embedding_model VARCHAR(200),
  CONSTRAINT pk_document_chunks PRIMARY KEY (document_chunk_id),
  CONSTRAINT uq_document_chunks_position UNIQUE (document_id, `position`),
  CONSTRAINT fk_document_chunks_document_id FOREIGN KEY(document_id) REFERENCES space_documents (document_id) ON DELETE CASCADE,
  CONSTRAINT fk_document_chunks_space_id FOREIGN KEY(space_id) REFERENCES spaces (space_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_document_chunks_space_id ON document_chunks (space_id, document_chunk_id);
CREATE TABLE file_pages (
  file_id INTEGER NOT NULL,
  page INTEGER NOT NULL,
  text MEDIUMTEXT NOT NULL,
  tokens INTEGER NOT NULL,
  is_scanned BOOL NOT NULL DEFAULT 0,
  CONSTRAINT pk_file_pages PRIMARY KEY (file_id, page),
  CONSTRAINT fk_file_pages_file_id FOREIGN KEY(file_id) REFERENCES files (file_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE gateway_threads (
  thread_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  fingerprint VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  conversation_id INTEGER NOT NULL,
  message_id INTEGER NOT NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_gateway_threads PRIMARY KEY (thread_id),
  CONSTRAINT fk_gateway_threads_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  CONSTRAINT fk_gateway_threads_conversation_id FOREIGN KEY(conversation_id) REFERENCES conversations (conversation_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_gateway_threads_fingerprint ON gateway_threads (user_id, fingerprint);
CREATE INDEX ix_gateway_threads_conversation_id ON gateway_threads (conversation_id);
CREATE TABLE import_items (
  item_id INTEGER NOT NULL AUTO_INCREMENT,
  import_id INTEGER NOT NULL,
  kind ENUM('conversation','memory','project','problem') NOT NULL,
  title VARCHAR(255),
  outcome ENUM('imported','updated','unchanged','skipped') NOT NULL,
  reason VARCHAR(255),
  target_id INTEGER,
  message_count INTEGER NOT NULL,
  left_out JSON,
  CONSTRAINT pk_import_items PRIMARY KEY (item_id),
  CONSTRAINT fk_import_items_import_id FOREIGN KEY(import_id) REFERENCES imports (import_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_import_items_import ON import_items (import_id, item_id);
CREATE TABLE journey_guides (
  conversation_id INTEGER NOT NULL,
  point_id INTEGER,
  is_paused BOOL NOT NULL DEFAULT 0,
  report_due BOOL NOT NULL DEFAULT 0,
  CONSTRAINT pk_journey_guides PRIMARY KEY (conversation_id),
  CONSTRAINT fk_journey_guides_conversation_id FOREIGN KEY(conversation_id) REFERENCES conversations (conversation_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_journey_guides_report ON journey_guides (report_due);
CREATE TABLE memory_change_sets (
  change_set_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  cause VARCHAR(30) NOT NULL,
  conversation_id INTEGER,
  through_message_id INTEGER,
  counts JSON NOT NULL,
  reasons JSON NOT NULL,
  changes JSON NOT NULL,
  model VARCHAR(200),
  prompt_tokens INTEGER,
  completion_tokens INTEGER,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  undone_at TIMESTAMP(6) NULL,
  undoes_id INTEGER,
  memory_version INTEGER NOT NULL DEFAULT 0,
  CONSTRAINT pk_memory_change_sets PRIMARY KEY (change_set_id),
  CONSTRAINT fk_memory_change_sets_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  CONSTRAINT fk_memory_change_sets_conversation_id FOREIGN KEY(conversation_id) REFERENCES conversations (conversation_id) ON DELETE SET NULL
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_memory_change_sets_user ON memory_change_sets (user_id, change_set_id);
CREATE INDEX ix_memory_change_sets_version ON memory_change_sets (user_id, memory_version);
CREATE INDEX ix_memory_change_sets_conversation_id ON memory_change_sets (conversation_id);
CREATE TABLE messages (
  message_id INTEGER NOT NULL AUTO_INCREMENT,
  conversation_id INTEGER NOT NULL,
  role ENUM('user','assistant') NOT NULL,
  content MEDIUMTEXT NOT NULL,
  created_at TIMESTAMP(6) NULL DEFAULT CURRENT_TIMESTAMP(6),
  tool_calls JSON,
  suggested_values JSON,
  suggested_actions JSON,
  custom_payload JSON,
  status ENUM('streaming','complete','stopped','interrupted','failed') NOT NULL DEFAULT 'complete',
  error_code VARCHAR(50),
  error_detail VARCHAR(500),
  model VARCHAR(200),
  prompt_version VARCHAR(100),
  prompt_tokens INTEGER,
  completion_tokens INTEGER,
  parent_id INTEGER,
  reply_to_id INTEGER,
  spans JSON,
  is_tainted BOOL NOT NULL DEFAULT 0,
  superseded_by_id INTEGER,
  CONSTRAINT pk_messages PRIMARY KEY (message_id),
  CONSTRAINT fk_messages_conversation_id FOREIGN KEY(conversation_id) REFERENCES conversations (conversation_id) ON DELETE CASCADE,
  CONSTRAINT fk_messages_parent_id FOREIGN KEY(parent_id) REFERENCES messages (message_id) ON DELETE SET NULL,
  CONSTRAINT fk_messages_reply_to_id FOREIGN KEY(reply_to_id) REFERENCES messages (message_id) ON DELETE SET NULL
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_messages_status ON messages (status, created_at);
CREATE INDEX ix_messages_conversation ON messages (conversation_id, superseded_by_id, message_id);
CREATE INDEX ix_messages_superseded_by_id ON messages (superseded_by_id);
CREATE INDEX ix_messages_parent_id ON messages (parent_id);
CREATE INDEX ix_messages_reply_to_id ON messages (reply_to_id);
CREATE TABLE model_offer_groups (
  offer_id INTEGER NOT NULL,
  group_id INTEGER NOT NULL,
  CONSTRAINT pk_model_offer_groups PRIMARY KEY (offer_id, group_id),
  CONSTRAINT fk_model_offer_groups_offer_id FOREIGN KEY(offer_id) REFERENCES model_offers (offer_id) ON DELETE CASCADE,
  CONSTRAINT fk_model_offer_groups_group_id FOREIGN KEY(group_id) REFERENCES user_groups (group_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_model_offer_groups_group_id ON model_offer_groups (group_id);
CREATE TABLE oauth_grants (
  grant_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  client_number INTEGER NOT NULL,
  token_id INTEGER NOT NULL,
  scope VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  refreshed_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  expires_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_oauth_grants PRIMARY KEY (grant_id),
  CONSTRAINT fk_oauth_grants_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  CONSTRAINT fk_oauth_grants_client_number FOREIGN KEY(client_number) REFERENCES oauth_clients (client_number) ON DELETE CASCADE,
  CONSTRAINT fk_oauth_grants_token_id FOREIGN KEY(token_id) REFERENCES api_tokens (token_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_oauth_grants_user_id ON oauth_grants (user_id);
CREATE INDEX ix_oauth_grants_token_id ON oauth_grants (token_id);
CREATE INDEX ix_oauth_grants_client_number ON oauth_grants (client_number);
CREATE INDEX ix_oauth_grants_expires_at ON oauth_grants (expires_at);
CREATE TABLE point_memories (
  point_memory_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  journey_id INTEGER NOT NULL,
  point_id INTEGER NOT NULL,
  is_addressed BOOL NOT NULL DEFAULT 0,
  confidence_score DOUBLE NOT NULL DEFAULT 0,
  evidence_count INTEGER NOT NULL DEFAULT 0,
  first_addressed_at TIMESTAMP(6) NULL,
  last_analyzed_at TIMESTAMP(6) NULL,
  message_count_analyzed INTEGER NOT NULL DEFAULT 0,
  manually_initiated BOOL NOT NULL DEFAULT 0,
  confirmed_at TIMESTAMP(6) NULL,
  dismissed_memory_ids JSON,
  set_aside VARCHAR(10),
  set_aside_at TIMESTAMP(6) NULL,
  settled_for JSON,
  settled_conflicts JSON,
  before_change JSON,
  updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_point_memories PRIMARY KEY (point_memory_id),
  CONSTRAINT uq_point_memories_user_id_point_id UNIQUE (user_id, point_id),
  CONSTRAINT fk_point_memories_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  CONSTRAINT fk_point_memories_journey_id FOREIGN KEY(journey_id) REFERENCES journeys (journey_id) ON DELETE CASCADE,
  CONSTRAINT fk_point_memories_point_id FOREIGN KEY(point_id) REFERENCES conversation_points (point_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_point_memories_point_id ON point_memories (point_id);
CREATE INDEX ix_point_memories_journey ON point_memories (journey_id, user_id);
CREATE TABLE point_vectors (
  point_id INTEGER NOT NULL,
  model VARCHAR(100) NOT NULL,
  digest VARCHAR(64) NOT NULL,
  vectors MEDIUMBLOB NOT NULL,
  CONSTRAINT pk_point_vectors PRIMARY KEY (point_id),
  CONSTRAINT fk_point_vectors_point_id FOREIGN KEY(point_id) REFERENCES conversation_points (point_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE prompt_activations (
  activation_id INTEGER NOT NULL AUTO_INCREMENT,
  name VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  version INTEGER NOT NULL,
  activated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  activated_by INTEGER,
  CONSTRAINT pk_prompt_activations PRIMARY KEY (activation_id),
  CONSTRAINT fk_prompt_activations_version FOREIGN KEY(name, version) REFERENCES prompt_versions (name, version),
  CONSTRAINT fk_prompt_activations_activated_by FOREIGN KEY(activated_by) REFERENCES users (user_id) ON DELETE SET NULL
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_prompt_activations_activated_by ON prompt_activations (activated_by);
CREATE TABLE prompts (
  name VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  active_version INTEGER NOT NULL,
  activated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  activated_by INTEGER,
  CONSTRAINT pk_prompts PRIMARY KEY (name),
  CONSTRAINT fk_prompts_active_version FOREIGN KEY(name, active_version) REFERENCES prompt_versions (name, version),
  CONSTRAINT fk_prompts_activated_by FOREIGN KEY(activated_by) REFERENCES users (user_id) ON DELETE SET NULL
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_prompts_activated_by ON prompts (activated_by);
CREATE TABLE push_subscriptions (
  subscription_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  session_id INTEGER NOT NULL,
  endpoint TEXT NOT NULL,
  digest VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  p256dh VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  auth VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_push_subscriptions PRIMARY KEY (subscription_id),
  CONSTRAINT uq_push_subscriptions_digest UNIQUE (digest),
  CONSTRAINT fk_push_subscriptions_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  CONSTRAINT fk_push_subscriptions_session_id FOREIGN KEY(session_id) REFERENCES user_sessions (session_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_push_subscriptions_user_id ON push_subscriptions (user_id);
CREATE INDEX ix_push_subscriptions_session_id ON push_subscriptions (session_id);
CREATE TABLE restored_rows (
  import_id INTEGER NOT NULL,
  kind VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  old_id INTEGER NOT NULL,
  new_id INTEGER NOT NULL,
  CONSTRAINT pk_restored_rows PRIMARY KEY (import_id, kind, old_id),
  CONSTRAINT fk_restored_rows_import_id FOREIGN KEY(import_id) REFERENCES imports (import_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE schedules (
  schedule_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  conversation_id INTEGER,
  title VARCHAR(120) NOT NULL,
  content TEXT NOT NULL,
  rule VARCHAR(500) NOT NULL DEFAULT '',
  starts_at DATETIME NOT NULL,
  zone VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  journey VARCHAR(100),
  is_standing BOOL NOT NULL DEFAULT 0,
  next_at TIMESTAMP(6) NULL,
  is_paused BOOL NOT NULL DEFAULT 0,
  paused_why VARCHAR(300),
  token_id INTEGER,
  sends_mail BOOL NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_schedules PRIMARY KEY (schedule_id),
  CONSTRAINT fk_schedules_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  CONSTRAINT fk_schedules_conversation_id FOREIGN KEY(conversation_id) REFERENCES conversations (conversation_id) ON DELETE SET NULL
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_schedules_conversation_id ON schedules (conversation_id);
CREATE INDEX ix_schedules_due ON schedules (is_paused, next_at);
CREATE INDEX ix_schedules_user_id ON schedules (user_id);
CREATE TABLE tool_grants (
  grant_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  server_id INTEGER NOT NULL,
  tool VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_tool_grants PRIMARY KEY (grant_id),
  CONSTRAINT uq_tool_grants_tool UNIQUE (user_id, server_id, tool),
  CONSTRAINT fk_tool_grants_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  CONSTRAINT fk_tool_grants_server_id FOREIGN KEY(server_id) REFERENCES tool_servers (server_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_tool_grants_server_id ON tool_grants (server_id);
CREATE TABLE usage_records (
  usage_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  conversation_id INTEGER,
  message_id INTEGER,
  kind VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  target VARCHAR(220),
  model VARCHAR(200),
  input_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL DEFAULT 0,
  estimated_tokens INTEGER,
  characters INTEGER,
  output_tokens INTEGER NOT NULL,
  input_price FLOAT,
  output_price FLOAT,
  is_estimated BOOL NOT NULL DEFAULT 0,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_usage_records PRIMARY KEY (usage_id),
  CONSTRAINT fk_usage_records_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  CONSTRAINT fk_usage_records_conversation_id FOREIGN KEY(conversation_id) REFERENCES conversations (conversation_id) ON DELETE SET NULL
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_usage_records_conversation_id ON usage_records (conversation_id);
CREATE INDEX ix_usage_records_user ON usage_records (user_id, created_at);
CREATE INDEX ix_usage_records_time ON usage_records (created_at, kind, user_id);
CREATE TABLE webhooks (
  webhook_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  token_id INTEGER,
  url VARCHAR(1000) NOT NULL,
  kinds VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  secret TEXT NOT NULL,
  with_content BOOL NOT NULL DEFAULT 0,
  is_active BOOL NOT NULL DEFAULT 1,
  disabled_reason VARCHAR(300),
  failing_since TIMESTAMP(6) NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_webhooks PRIMARY KEY (webhook_id),
  CONSTRAINT fk_webhooks_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  CONSTRAINT fk_webhooks_token_id FOREIGN KEY(token_id) REFERENCES api_tokens (token_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_webhooks_user_id ON webhooks (user_id);
CREATE INDEX ix_webhooks_token_id ON webhooks (token_id);
CREATE TABLE conversation_memory_versions (
  version_id INTEGER NOT NULL AUTO_INCREMENT,
  conversation_memory_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  memory_data JSON NOT NULL,
  source ENUM('model','user','service') NOT NULL,
  model VARCHAR(200),
  prompt_version VARCHAR(100),
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_conversation_memory_versions PRIMARY KEY (version_id),
  CONSTRAINT uq_conversation_memory_versions_conversation_memory_id_version UNIQUE (conversation_memory_id, version),
  CONSTRAINT fk_conversation_memory_versions_conversation_memory_id FOREIGN KEY(conversation_memory_id) REFERENCES conversation_memories (id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE imported_messages (
  message_id INTEGER NOT NULL,
  conversation_id INTEGER NOT NULL,
  import_id INTEGER,
  source_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  digest VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  CONSTRAINT pk_imported_messages PRIMARY KEY (message_id),
  CONSTRAINT fk_imported_messages_message_id FOREIGN KEY(message_id) REFERENCES messages (message_id) ON DELETE CASCADE,
  CONSTRAINT fk_imported_messages_conversation_id FOREIGN KEY(conversation_id) REFERENCES conversations (conversation_id) ON DELETE CASCADE,
  CONSTRAINT fk_imported_messages_import_id FOREIGN KEY(import_id) REFERENCES imports (import_id) ON DELETE SET NULL
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_imported_messages_conversation ON imported_messages (conversation_id, message_id);
CREATE INDEX ix_imported_messages_import_id ON imported_messages (import_id);
CREATE TABLE memories (
  memory_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  memory_type ENUM('fact','preference','entity','project','decision','instruction') NOT NULL,
  category VARCHAR(100),
  content TEXT NOT NULL,
  source_conversation_id INTEGER,
  source_message_id INTEGER,
  created_at TIMESTAMP(6) NULL DEFAULT CURRENT_TIMESTAMP(6),
  last_accessed_at TIMESTAMP(6) NULL,
  access_count INTEGER DEFAULT 0,
  is_pinned BOOL DEFAULT 0,
  is_archived BOOL DEFAULT 0,
  confidence FLOAT DEFAULT 1,
  embedding BLOB(65535),
  space_id INTEGER,
  only_conversation_id INTEGER,
  visibility ENUM('private','shared') NOT NULL DEFAULT 'private',
  fact_key VARCHAR(120) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  fact_value VARCHAR(500),
  importance FLOAT NOT NULL DEFAULT (0.5),
  valid_from TIMESTAMP(6) NULL,
  valid_to TIMESTAMP(6) NULL,
  until DATE,
  superseded_by_id INTEGER,
  contradicts_id INTEGER,
  settled_with JSON,
  needs_review BOOL NOT NULL DEFAULT 0,
  origin ENUM('user','extraction','tool','import') NOT NULL DEFAULT 'user',
  edited_by_user BOOL NOT NULL DEFAULT 0,
  asserted_at TIMESTAMP(6) NULL,
  embedding_model VARCHAR(200),
  statement_hash VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  revision INTEGER NOT NULL DEFAULT 1,
  evidence_count INTEGER NOT NULL DEFAULT 0,
  updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  space_slot INTEGER GENERATED ALWAYS AS (coalesce(space_id, 0)) VIRTUAL,
  current_slot VARCHAR(250) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin GENERATED ALWAYS AS (CASE WHEN fact_key IS NOT NULL AND valid_to IS NULL AND is_archived = 0 AND needs_review = 0 THEN concat(coalesce(category, ''), ':', fact_key) END) VIRTUAL,
  known_rank FLOAT GENERATED ALWAYS AS (CASE WHEN fact_key IS NOT NULL AND valid_to IS NULL AND is_archived = 0 AND needs_review = 0 THEN importance END) VIRTUAL,
  is_closed BOOL GENERATED ALWAYS AS (valid_to IS NOT NULL) VIRTUAL,
  CONSTRAINT pk_memories PRIMARY KEY (memory_id),
  CONSTRAINT uq_memories_current_fact UNIQUE (user_id, space_slot, current_slot),
  CONSTRAINT fk_memories_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  CONSTRAINT fk_memories_source_conversation_id FOREIGN KEY(source_conversation_id) REFERENCES conversations (conversation_id) ON DELETE SET NULL,
  CONSTRAINT fk_memories_source_message_id FOREIGN KEY(source_message_id) REFERENCES messages (message_id) ON DELETE SET NULL,
  CONSTRAINT fk_memories_only_conversation_id FOREIGN KEY(only_conversation_id) REFERENCES conversations (conversation_id) ON DELETE CASCADE,
  CONSTRAINT fk_memories_superseded_by_id FOREIGN KEY(superseded_by_id) REFERENCES memories (memory_id) ON DELETE SET NULL,
  CONSTRAINT fk_memories_contradicts_id FOREIGN KEY(contradicts_id) REFERENCES memories (memory_id) ON DELETE SET NULL
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_memories_only_conversation_id ON memories (only_conversation_id);
CREATE INDEX ix_memories_source ON memories (source_conversation_id);
CREATE INDEX ix_memories_waiting ON memories (user_id, is_archived, is_closed, needs_review, updated_at, memory_id);
CREATE INDEX ix_memories_category ON memories (user_id, is_archived, category, is_closed, updated_at, memory_id);
CREATE INDEX ix_memories_space ON memories (space_id, visibility);
CREATE INDEX ix_memories_fact_key ON memories (user_id, fact_key);
CREATE INDEX ix_memories_pinned ON memories (user_id, is_archived, is_closed, is_pinned, updated_at, memory_id);
CREATE INDEX ix_memories_recent ON memories (user_id, created_at, memory_id);
CREATE INDEX ix_memories_statement ON memories (user_id, statement_hash);
CREATE INDEX ix_memories_known ON memories (user_id, space_slot, known_rank, memory_id);
CREATE INDEX ix_memories_type ON memories (user_id, is_archived, is_closed, memory_type, updated_at, memory_id);
CREATE INDEX ix_memories_listing ON memories (user_id, is_archived, is_closed, updated_at, memory_id, needs_review);
CREATE TABLE message_embeddings (
  message_id INTEGER NOT NULL,
  piece INTEGER NOT NULL DEFAULT 0,
  from_char INTEGER NOT NULL DEFAULT 0,
  to_char INTEGER NOT NULL DEFAULT 0,
  user_id INTEGER NOT NULL,
  model VARCHAR(200) NOT NULL,
  embedding BLOB(65535) NOT NULL,
  CONSTRAINT pk_message_embeddings PRIMARY KEY (message_id, piece),
  CONSTRAINT fk_message_embeddings_message_id FOREIGN KEY(message_id) REFERENCES messages (message_id) ON DELETE CASCADE,
  CONSTRAINT fk_message_embeddings_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_message_embeddings_user_id ON message_embeddings (user_id, model);
CREATE TABLE message_feedback (
  message_id INTEGER NOT NULL,
  user_id INTEGER NOT NULL,
  rating ENUM('up','down') NOT NULL,
  reasons JSON NOT NULL,
  comment TEXT NOT NULL,
  may_read BOOL NOT NULL DEFAULT 0,
  model VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  prompt_version VARCHAR(100),
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_message_feedback PRIMARY KEY (message_id),
  CONSTRAINT fk_message_feedback_message_id FOREIGN KEY(message_id) REFERENCES messages (message_id) ON DELETE CASCADE,
  CONSTRAINT fk_message_feedback_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_message_feedback_user_id ON message_feedback (user_id);
CREATE INDEX ix_message_feedback_created_at ON message_feedback (created_at);
CREATE TABLE message_files (
  message_id INTEGER NOT NULL,
  file_id INTEGER NOT NULL,
  conversation_id INTEGER NOT NULL,
  mode ENUM('whole','search') NOT NULL DEFAULT 'whole',
  CONSTRAINT pk_message_files PRIMARY KEY (message_id, file_id),
  CONSTRAINT fk_message_files_message_id FOREIGN KEY(message_id) REFERENCES messages (message_id) ON DELETE CASCADE,
  CONSTRAINT fk_message_files_file_id FOREIGN KEY(file_id) REFERENCES files (file_id) ON DELETE CASCADE,
  CONSTRAINT fk_message_files_conversation_id FOREIGN KEY(conversation_id) REFERENCES conversations (conversation_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_message_files_file_id ON message_files (file_id);
CREATE INDEX ix_message_files_conversation_id ON message_files (conversation_id);
CREATE TABLE message_reasoning (
  message_id INTEGER NOT NULL,
  content MEDIUMTEXT NOT NULL,
  duration_ms INTEGER NOT NULL DEFAULT 0,
  CONSTRAINT pk_message_reasoning PRIMARY KEY (message_id),
  CONSTRAINT fk_message_reasoning_message_id FOREIGN KEY(message_id) REFERENCES messages (message_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE oauth_codes (
  code_hash VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  user_id INTEGER NOT NULL,
  client_number INTEGER NOT NULL,
  redirect_uri VARCHAR(1000) NOT NULL,
  challenge VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  scope VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  space_ids JSON,
  expires_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  grant_id INTEGER,
  CONSTRAINT pk_oauth_codes PRIMARY KEY (code_hash),
  CONSTRAINT fk_oauth_codes_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  CONSTRAINT fk_oauth_codes_client_number FOREIGN KEY(client_number) REFERENCES oauth_clients (client_number) ON DELETE CASCADE,
  CONSTRAINT fk_oauth_codes_grant_id FOREIGN KEY(grant_id) REFERENCES oauth_grants (grant_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_oauth_codes_grant_id ON oauth_codes (grant_id);
CREATE INDEX ix_oauth_codes_user_id ON oauth_codes (user_id);
CREATE INDEX ix_oauth_codes_client_number ON oauth_codes (client_number);
CREATE INDEX ix_oauth_codes_expires_at ON oauth_codes (expires_at);
CREATE TABLE oauth_refresh_tokens (
  token_hash VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  grant_id INTEGER NOT NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  used_at TIMESTAMP(6) NULL,
  CONSTRAINT pk_oauth_refresh_tokens PRIMARY KEY (token_hash),
  CONSTRAINT fk_oauth_refresh_tokens_grant_id FOREIGN KEY(grant_id) REFERENCES oauth_grants (grant_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_oauth_refresh_tokens_grant_id ON oauth_refresh_tokens (grant_id);
CREATE TABLE passage_verdicts (
  verdict_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  message_id INTEGER NOT NULL,
  kind ENUM('memory','chunk','message','document') NOT NULL,
  passage_id INTEGER NOT NULL,
  verdict ENUM('wrong','outdated','not_relevant','forget') NOT NULL,
  terms JSON NOT NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_passage_verdicts PRIMARY KEY (verdict_id),
  CONSTRAINT uq_passage_verdicts_passage UNIQUE (message_id, kind, passage_id),
  CONSTRAINT fk_passage_verdicts_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  CONSTRAINT fk_passage_verdicts_message_id FOREIGN KEY(message_id) REFERENCES messages (message_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_passage_verdicts_user_id ON passage_verdicts (user_id, verdict);
CREATE TABLE pipeline_steps (
  step_id INTEGER NOT NULL AUTO_INCREMENT,
  message_id INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  name VARCHAR(50) NOT NULL,
  model VARCHAR(200),
  duration_ms INTEGER,
  data JSON NOT NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_pipeline_steps PRIMARY KEY (step_id),
  CONSTRAINT uq_pipeline_steps_message_id_ordinal UNIQUE (message_id, ordinal),
  CONSTRAINT fk_pipeline_steps_message_id FOREIGN KEY(message_id) REFERENCES messages (message_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE TABLE schedule_runs (
  run_id INTEGER NOT NULL AUTO_INCREMENT,
  schedule_id INTEGER NOT NULL,
  due_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  status ENUM('waiting','running','done','failed') NOT NULL,
  is_late BOOL NOT NULL DEFAULT 0,
  message_id INTEGER,
  problem VARCHAR(300),
  ended_at TIMESTAMP(6) NULL,
  mail_due_at TIMESTAMP(6) NULL,
  CONSTRAINT pk_schedule_runs PRIMARY KEY (run_id),
  CONSTRAINT uq_schedule_runs_due UNIQUE (schedule_id, due_at),
  CONSTRAINT fk_schedule_runs_schedule_id FOREIGN KEY(schedule_id) REFERENCES schedules (schedule_id) ON DELETE CASCADE,
  CONSTRAINT fk_schedule_runs_message_id FOREIGN KEY(message_id) REFERENCES messages (message_id) ON DELETE SET NULL
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_schedule_runs_message_id ON schedule_runs (message_id);
CREATE INDEX ix_schedule_runs_mail_due_at ON schedule_runs (mail_due_at);
CREATE INDEX ix_schedule_runs_status ON schedule_runs (status, due_at);
CREATE TABLE turn_receipts (
  receipt_id INTEGER NOT NULL AUTO_INCREMENT,
  message_id INTEGER NOT NULL,
  kind ENUM('memory','chunk','message','document') NOT NULL,
  passage_id INTEGER NOT NULL,
  revision INTEGER,
  stage VARCHAR(20) NOT NULL,
  `rank` INTEGER NOT NULL,
  score FLOAT NOT NULL,
  reason VARCHAR(200) NOT NULL,
  injected BOOL NOT NULL,
  from_char INTEGER,
  to_char INTEGER,
  CONSTRAINT pk_turn_receipts PRIMARY KEY (receipt_id),
  CONSTRAINT fk_turn_receipts_message_id FOREIGN KEY(message_id) REFERENCES messages (message_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_turn_receipts_message ON turn_receipts (message_id, receipt_id);
CREATE INDEX ix_turn_receipts_passage ON turn_receipts (kind, passage_id);
CREATE TABLE webhook_deliveries (
  delivery_id INTEGER NOT NULL AUTO_INCREMENT,
  webhook_id INTEGER NOT NULL,
  event_id VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  kind VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  data JSON NOT NULL,
  status ENUM('waiting','delivered','failed','skipped') NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  answer VARCHAR(200),
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  due_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_webhook_deliveries PRIMARY KEY (delivery_id),
  CONSTRAINT fk_webhook_deliveries_webhook_id FOREIGN KEY(webhook_id) REFERENCES webhooks (webhook_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_webhook_deliveries_due ON webhook_deliveries (status, due_at);
CREATE INDEX ix_webhook_deliveries_created_at ON webhook_deliveries (created_at);
CREATE INDEX ix_webhook_deliveries_webhook ON webhook_deliveries (webhook_id, delivery_id);
CREATE TABLE forget_proposals (
  proposal_id INTEGER NOT NULL AUTO_INCREMENT,
  user_id INTEGER NOT NULL,
  memory_id INTEGER NOT NULL,
  message_id INTEGER NOT NULL,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_forget_proposals PRIMARY KEY (proposal_id),
  CONSTRAINT uq_forget_proposals_once UNIQUE (message_id, memory_id),
  CONSTRAINT fk_forget_proposals_user_id FOREIGN KEY(user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  CONSTRAINT fk_forget_proposals_memory_id FOREIGN KEY(memory_id) REFERENCES memories (memory_id) ON DELETE CASCADE,
  CONSTRAINT fk_forget_proposals_message_id FOREIGN KEY(message_id) REFERENCES messages (message_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_forget_proposals_user ON forget_proposals (user_id, proposal_id);
CREATE INDEX ix_forget_proposals_memory_id ON forget_proposals (memory_id);
CREATE TABLE memory_evidence (
  evidence_id INTEGER NOT NULL AUTO_INCREMENT,
  memory_id INTEGER NOT NULL,
  message_id INTEGER NOT NULL,
  quote TEXT NOT NULL,
  start INTEGER NOT NULL,
  end INTEGER NOT NULL,
  said_at TIMESTAMP(6) NOT NULL,
  change_set_id INTEGER,
  CONSTRAINT pk_memory_evidence PRIMARY KEY (evidence_id),
  CONSTRAINT uq_memory_evidence_span UNIQUE (memory_id, message_id, start, end),
  CONSTRAINT fk_memory_evidence_memory_id FOREIGN KEY(memory_id) REFERENCES memories (memory_id) ON DELETE CASCADE,
  CONSTRAINT fk_memory_evidence_message_id FOREIGN KEY(message_id) REFERENCES messages (message_id) ON DELETE CASCADE,
  CONSTRAINT fk_memory_evidence_change_set_id FOREIGN KEY(change_set_id) REFERENCES memory_change_sets (change_set_id) ON DELETE SET NULL
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_memory_evidence_message_id ON memory_evidence (message_id);
CREATE TABLE memory_revisions (
  revision_id INTEGER NOT NULL AUTO_INCREMENT,
  memory_id INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  snapshot JSON NOT NULL,
  statement_hash VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  actor VARCHAR(30) NOT NULL,
  cause VARCHAR(30) NOT NULL,
  change_set_id INTEGER,
  created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT pk_memory_revisions PRIMARY KEY (revision_id),
  CONSTRAINT uq_memory_revisions_memory_id_revision UNIQUE (memory_id, revision),
  CONSTRAINT fk_memory_revisions_memory_id FOREIGN KEY(memory_id) REFERENCES memories (memory_id) ON DELETE CASCADE,
  CONSTRAINT fk_memory_revisions_change_set_id FOREIGN KEY(change_set_id) REFERENCES memory_change_sets (change_set_id) ON DELETE SET NULL
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_memory_revisions_change_set_id ON memory_revisions (change_set_id);
CREATE INDEX ix_memory_revisions_statement_hash ON memory_revisions (statement_hash);
CREATE TABLE point_evidence (
  evidence_id INTEGER NOT NULL AUTO_INCREMENT,
  point_memory_id INTEGER NOT NULL,
  message_id INTEGER,
  memory_id INTEGER,
  quote TEXT NOT NULL,
  start INTEGER,
  end INTEGER,
  said_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  extracted_points JSON NOT NULL,
  structured_data JSON NOT NULL,
  question TEXT,
  criteria JSON,
  retired JSON,
  retired_at TIMESTAMP(6) NULL,
  retired_why VARCHAR(20),
  CONSTRAINT pk_point_evidence PRIMARY KEY (evidence_id),
  CONSTRAINT uq_point_evidence_span UNIQUE (point_memory_id, message_id, start, end),
  CONSTRAINT fk_point_evidence_point_memory_id FOREIGN KEY(point_memory_id) REFERENCES point_memories (point_memory_id) ON DELETE CASCADE,
  CONSTRAINT fk_point_evidence_message_id FOREIGN KEY(message_id) REFERENCES messages (message_id) ON DELETE CASCADE,
  CONSTRAINT fk_point_evidence_memory_id FOREIGN KEY(memory_id) REFERENCES memories (memory_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_point_evidence_memory_id ON point_evidence (memory_id);
CREATE INDEX ix_point_evidence_message_id ON point_evidence (message_id);
CREATE TABLE report_evidence (
  report_id INTEGER NOT NULL,
  evidence_id INTEGER NOT NULL,
  CONSTRAINT pk_report_evidence PRIMARY KEY (report_id, evidence_id),
  CONSTRAINT fk_report_evidence_report_id FOREIGN KEY(report_id) REFERENCES conversation_reports (report_id) ON DELETE CASCADE,
  CONSTRAINT fk_report_evidence_evidence_id FOREIGN KEY(evidence_id) REFERENCES point_evidence (evidence_id) ON DELETE CASCADE
)CHARSET=utf8mb4 ENGINE=InnoDB;
CREATE INDEX ix_report_evidence_evidence_id ON report_evidence (evidence_id);
